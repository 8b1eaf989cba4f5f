#include "region/map.h"

namespace assay::region {

namespace {

template <class Map>
void add_counts(Map* into, const Map& from) {
  for (const auto& [key, n] : from) (*into)[key] += n;
}

}  // namespace

void Evidence::add(const Instr& i) {
  if ((i.flags & kPadding) != 0) return;
  ++instructions;
  ++by_class[static_cast<size_t>(i.cls)];
  no_source += (i.flags & kNoSource) != 0;
  no_ptx += (i.flags & kNoPtx) != 0;
  conflicts += (i.flags & kConflict) != 0;
  moved += (i.flags & kMoved) != 0;
  repaired += (i.flags & kRepaired) != 0;
  switch (i.cls) {
    case Class::GlobalLoad:
      ++global_load[i.bytes];
      break;
    case Class::GlobalStore:
      ++global_store[i.bytes];
      break;
    case Class::SharedLoad:
      ++shared_load[i.bytes];
      break;
    case Class::SharedStore:
      ++shared_store[i.bytes];
      break;
    case Class::AsyncCopy:
      ++async_copy[i.bytes];
      break;
    case Class::Tensor:
      ++tensor[i.sass.opcode];
      break;
    case Class::Tma:
      ++tma[i.sass.opcode];
      break;
    default:
      break;
  }
}

void Evidence::add(const Evidence& o) {
  for (size_t k = 0; k < kClasses; ++k) by_class[k] += o.by_class[k];
  add_counts(&global_load, o.global_load);
  add_counts(&global_store, o.global_store);
  add_counts(&shared_load, o.shared_load);
  add_counts(&shared_store, o.shared_store);
  add_counts(&async_copy, o.async_copy);
  add_counts(&tensor, o.tensor);
  add_counts(&tma, o.tma);
  instructions += o.instructions;
  no_source += o.no_source;
  no_ptx += o.no_ptx;
  conflicts += o.conflicts;
  moved += o.moved;
  repaired += o.repaired;
}

const char* kind_name(Kind k) {
  switch (k) {
    case Kind::Function:
      return "function";
    case Kind::Role:
      return "role";
    case Kind::Loop:
      return "loop";
    case Kind::Line:
      return "line";
  }
  return "";
}

}  // namespace assay::region
