#include "machine/warp.h"

#include <algorithm>

namespace assay::machine {

void Warp::start(const Kernel& k, uint32_t warp_id, uint32_t lanes) {
  id = warp_id;
  alive = lanes;
  file.assign(k.file_words, 0);
  splits.clear();
  jumps_ = 0;
  next_state_ = kFirstState;
  earlier_ = {};
  current = new_split(0, kNever, lanes, -1);
  for (const ConstInit& c : k.consts) {
    if (c.file == RegFile::Pred) {
      *reg(c.reg) = static_cast<uint32_t>(c.bits);
    } else if (c.file == RegFile::Word) {
      std::fill_n(reg(c.reg), 32, static_cast<uint32_t>(c.bits));
    } else {
      std::fill_n(reg64(c.reg), 32, c.bits);
    }
  }
}

void Warp::fill_special(const Kernel& k, const std::array<uint32_t, 3>& block,
                        const std::array<uint32_t, 3>& ctaid,
                        const std::array<uint32_t, 3>& cluster) {
  for (const SpecialInit& s : k.specials) {
    uint32_t* r = reg(s.reg);
    for (uint32_t l = 0; l < 32; ++l) {
      uint32_t t = id * 32 + l;
      uint32_t v = 0;
      size_t c = s.component;
      switch (s.special) {
        case ptx::Special::Tid:
          v = c == 0 ? t % block[0] : c == 1 ? t / block[0] % block[1] : t / (block[0] * block[1]);
          break;
        case ptx::Special::Ctaid:
          v = ctaid[c];
          break;
        case ptx::Special::Clusterid:
          v = ctaid[c] / cluster[c];
          break;
        case ptx::Special::ClusterCtaid:
          v = ctaid[c] % cluster[c];
          break;
        case ptx::Special::ClusterCtarank:
          v = ctaid[0] % cluster[0] +
              cluster[0] * (ctaid[1] % cluster[1] + cluster[1] * (ctaid[2] % cluster[2]));
          break;
        case ptx::Special::Laneid:
          v = l;
          break;
        case ptx::Special::Warpid:
          v = id;
          break;
        case ptx::Special::LanemaskEq:
          v = 1u << l;
          break;
        case ptx::Special::LanemaskLt:
          v = (1u << l) - 1;
          break;
        case ptx::Special::LanemaskLe:
          v = (1u << l) | ((1u << l) - 1);
          break;
        case ptx::Special::LanemaskGt:
          v = ~((1u << l) | ((1u << l) - 1));
          break;
        case ptx::Special::LanemaskGe:
          v = ~((1u << l) - 1);
          break;
        default:
          break;
      }
      r[l] = v;
    }
  }
}

int Warp::new_split(uint32_t pc, uint32_t rpc, uint32_t mask, int parent) {
  Split s;
  s.state = SplitState::Ready;
  s.pc = pc;
  s.rpc = rpc;
  s.mask = mask;
  s.parent = parent;
  // Youngest last: a free slot is reused only if nothing younger lives behind it.
  while (!splits.empty() && splits.back().state == SplitState::Free) splits.pop_back();
  splits.push_back(s);
  return static_cast<int>(splits.size() - 1);
}

bool Warp::pick() {
  for (size_t i = splits.size(); i-- > 0;) {
    if (splits[i].state == SplitState::Ready) {
      current = static_cast<int>(i);
      return true;
    }
  }
  current = -1;
  return false;
}

bool Warp::pick_other() {
  auto n = static_cast<int>(splits.size());
  if (current < 0 || current >= n) return pick();
  for (int k = 1; k <= n; ++k) {
    int i = (current - k + n) % n;
    if (splits[static_cast<size_t>(i)].state == SplitState::Ready) {
      current = i;
      return true;
    }
  }
  return pick();
}

void Warp::go(uint32_t taken, const MicroOp& op) {
  Split& s = cur();
  if (taken == s.mask) {
    s.pc = op.target;
  } else if (!taken) {
    ++s.pc;
  } else {
    branch(taken, op.target, s.pc + 1, op.reconv);
  }
}

void Warp::branch(uint32_t taken, uint32_t target, uint32_t next, uint32_t reconv) {
  Split& s = cur();
  uint32_t fall = s.mask & ~taken;
  if (reconv != kNever && reconv == s.rpc) {  // same meeting point: the parent stands already
    uint32_t arrived = (target == reconv ? taken : 0) | (next == reconv ? fall : 0);
    if (s.parent >= 0) splits[static_cast<size_t>(s.parent)].arrived |= arrived;
    if (target == reconv || next == reconv) {
      s.mask &= ~arrived;
      s.pc = target == reconv ? next : target;
      if (!s.mask) {  // both went there
        int parent = s.parent;
        s.state = SplitState::Free;
        child_gone(parent);
        pick();
      }
      return;
    }
    if (s.parent >= 0) ++splits[static_cast<size_t>(s.parent)].children;
    s.mask = fall;
    s.pc = next;
    int parent = s.parent;
    uint32_t rpc = s.rpc;
    current = new_split(target, rpc, taken, parent);
    return;
  }
  if (reconv == kNever) {  // they never meet
    s.mask = fall;
    s.pc = next;
    int parent = s.parent;
    uint32_t rpc = s.rpc;
    if (parent >= 0) ++splits[static_cast<size_t>(parent)].children;
    current = new_split(target, rpc, taken, parent);
    return;
  }
  s.state = SplitState::Waiting;
  s.pc = reconv;
  s.arrived = (target == reconv ? taken : 0) | (next == reconv ? fall : 0);
  int parent = current;
  int made = 0;
  int last = -1;
  if (next != reconv) {
    last = new_split(next, reconv, fall, parent);
    ++made;
  }
  if (target != reconv) {
    last = new_split(target, reconv, taken, parent);
    ++made;
  }
  splits[static_cast<size_t>(parent)].children = made;
  if (made == 0) {
    splits[static_cast<size_t>(parent)].state = SplitState::Ready;
    last = parent;
  }
  current = last;
}

// One child of `parent` is no more: the parent goes on if it was the last one.
void Warp::child_gone(int parent) {
  if (parent < 0) return;
  Split& p = splits[static_cast<size_t>(parent)];
  if (--p.children > 0) return;
  p.mask = p.arrived & alive;
  p.arrived = 0;
  if (p.mask) {
    p.state = SplitState::Ready;
    return;
  }
  int up = p.parent;
  p.state = SplitState::Free;
  child_gone(up);
}

uint32_t Warp::reconverge() {
  Split& s = cur();
  int parent = s.parent;
  s.state = SplitState::Free;
  if (parent < 0) {
    pick();
    return 0;
  }
  Split& p = splits[static_cast<size_t>(parent)];
  p.arrived |= s.mask;
  child_gone(parent);
  uint32_t joined = splits[static_cast<size_t>(parent)].state == SplitState::Ready
                        ? splits[static_cast<size_t>(parent)].mask
                        : 0;
  pick();
  return joined;
}

bool Warp::release_arrived() {
  bool any = false;
  for (size_t i = 0; i < splits.size(); ++i) {
    Split s = splits[i];
    uint32_t lanes = s.arrived & alive;
    if (s.state != SplitState::Waiting || !lanes) continue;
    splits[i].arrived = 0;
    if (s.parent >= 0) ++splits[static_cast<size_t>(s.parent)].children;
    new_split(s.pc, s.rpc, lanes, s.parent);
    any = true;
  }
  return any;
}

void Warp::exit_lanes(uint32_t mask) {
  alive &= ~mask;
  Split& s = cur();
  s.mask &= ~mask;
  if (s.mask) return;
  int parent = s.parent;
  s.state = SplitState::Free;
  child_gone(parent);
  pick();
}

bool Warp::returns(const std::vector<uint32_t>& domain_state) {
  if (++jumps_ < kFirstState) return false;
  if (jumps_ == next_state_) {
    next_state_ *= 2;
    earlier_ = {current, file, domain_state, splits};
    return false;
  }
  return earlier_.current == current && earlier_.splits == splits && earlier_.file == file &&
         earlier_.domain == domain_state;
}

}  // namespace assay::machine
