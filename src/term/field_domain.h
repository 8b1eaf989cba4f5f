#pragma once
// The fingerprint: the image of a value at a random point. A value is (v in F_p, e in Z_q): v its
// image, e its image as an exponent. exp(t) = g^e(t); other functions are hashes of v; max and min
// are sets; if-then-else goes through a free field value for its condition. Equal images prove
// equality over the reals where both sides are defined, up to a probability (see error_bound).
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/fn.h"
#include "machine/trace.h"
#include "term/field.h"
#include "term/image_map.h"
#include "term/max_sets.h"
#include "term/snap.h"
#include "term/store.h"

namespace assay::term {

// Something that must hold for a value to be defined: the image of the argument of a partial
// function.
struct Obligation {
  enum class Kind : uint8_t { NonZero, Positive, NonNegative } kind;
  double image;
  uint32_t pc;
};

class FieldDomain {
 public:
  static constexpr bool kExact = true;  // a product may be fused with a sum
  static constexpr bool kHoldsNan = false;
  struct Row {
    alignas(64) double v[kRow];
    alignas(64) double e[kRow];
    uint32_t raw = 0;  // v holds the concrete bits of an operand whose type its consumer knows
    uint32_t pinf = 0, ninf = 0;
    uint32_t undef = 0;  // depends on memory or lanes that nothing defined
    uint32_t taint = 0;  // contains exp: e is additive only
    uint32_t lazy = 0;   // v is a node of a maximum or minimum whose image is not computed yet
    uint32_t marked() const { return raw | lazy | pinf | ninf | undef; }  // no plain number
    bool special() const { return (pinf | ninf | undef) != 0; }
  };
  using Lane = LaneOf<Row>;
  struct Cell {  // v < 0 marks: -1 +inf, -2 -inf; undef: v = -3 - image
    double v = 0, e = 0;
  };
  struct Settings {
    int prime = 0;
    uint64_t seed = 1;
    bool with_exp = true;  // e images are computed
    // Sums of logarithms become one logarithm; else they stay sums, over which products distribute.
    bool log_laws = true;
  };

  FieldDomain(const Settings& settings, const Snapper& snapper);

  void apply(Fn fn, Ty type, const Mods& mods, const Row* a, const Row* b, const Row* c,
             const Row* d, Row& out, uint32_t mask);
  // The same for single lanes, if that is a ring operation to which no law applies.
  bool apply_lane(Fn fn, const Mods& mods, const Lane* args, Row& out, int lane);
  void set_bits(uint64_t bits, Row& out) const;         // all lanes
  void set_bits(const uint64_t* bits, Row& out) const;  // lane by lane
  void set_number(Ty type, double value, Row& out);     // a literal, snapped
  void set_integer(const int64_t* values, Row& out);    // lane by lane
  void set_undef(uint64_t tag, Row& out) const;
  void symbol(uint64_t symbol, Ty type, const int64_t* elements, uint32_t mask, Row& out);
  Cell bits_cell(Ty type, uint64_t bits);
  // Integer symbols range over [lo, hi) (the operator's rule and the example).
  void set_int_range(uint64_t symbol, int64_t lo, int64_t hi) { int_ranges_[symbol] = {lo, hi}; }
  // Element base[l] + index of a buffer. If the index is affine in one integer symbol k with at
  // most 4096 values: sum_k [k] * x_k; else, for buffers of inputs, a congruent function of the
  // element.
  void lookup(Store<FieldDomain>& store, int buffer, Ty type, const Row& index, const int64_t* base,
              int64_t lo, int64_t hi, uint32_t mask, Row& out);
  void scatter(Store<FieldDomain>& store, const machine::IndexedOut& out, const Row& index,
               const Row& value, const Row* pred);

  void clear(Row& out) const {
    out.raw = out.pinf = out.ninf = out.undef = out.taint = out.lazy = 0;
  }
  void broadcast(const Row& from, int lane, Row& out) const;
  void fix_type(Ty type, Row& row, uint32_t mask);  // raw lanes take a type
  Cell cell(const Row& row, int lane, Ty type);
  void set_lane(Row& row, int lane, const Cell& cell) const;
  static void copy_lane(const Row& from, int from_lane, Row& to, int lane) {
    to.v[lane] = from.v[from_lane];
    to.e[lane] = from.e[from_lane];
    // Most lanes bear no mark.
    if ((((from.marked() | from.taint) >> from_lane | (to.marked() | to.taint) >> lane) & 1) != 0)
      copy_marks(from, from_lane, to, lane);
  }

  // Lane l of `to` is lane lanes[l] of `from`; false: some bear marks, nothing is done.
  static bool permute(const Row& from, const uint8_t* lanes, Row& to) {
    if (from.marked() != 0 || (from.taint != 0 && from.taint != ~0u)) return false;
    for (int l = 0; l < kRow; ++l) {
      to.v[l] = from.v[lanes[l]];
      to.e[l] = from.e[lanes[l]];
    }
    to.raw = to.pinf = to.ninf = to.undef = to.lazy = 0;
    to.taint = from.taint;
    return true;
  }

  // The lanes of mask in which both rows have the same image and are numbers.
  uint32_t agree(Ty type, const Row& a, const Row& b, uint32_t mask);

  // Combines two cells (reductions across lanes and atomics).
  Cell combine(Fn fn, Ty type, const Cell& a, const Cell& b);
  bool is_const(double image, double* value);

  // Facts found between keep_facts and forget_facts are dropped once they are many: for values that
  // nothing reads any more. Images stay the same; a dropped fact can only cost a proof.
  void keep_facts();
  void forget_facts() { forget_facts({}); }
  // The facts about these images are kept from now on: values that are read later. True: done.
  bool forget_facts(const std::vector<double>& live);
  bool many_facts();  // to forget
  // Sums and products ask for facts about their operands.
  bool ring_facts() const { return have_logs_ || have_roots_ || have_abs_; }
  // No row holds a lazy extremum any more.
  void release_lazy();

  uint64_t unknown_scatters = 0;   // stores at an index of unknown form
  uint64_t agreements = 0;         // lanes in which agree() found one image
  uint64_t rational_laws = 0;      // selections merged because a slope was a small rational
  uint64_t ratios_tried = 0;       // comparisons with multiples of what is not negative
  uint64_t divisions_by_zero = 0;  // draw again
  std::vector<Obligation> obligations;
  std::vector<std::string> folds;  // guards folded, for the list of snaps
  uint32_t pc = 0;                 // set by the evaluator, for obligations
  bool record_obligations = false;
  uint64_t open_choices = 0;  // comparisons and selects that depend on inputs
  // What the reference needs holds wherever anything is asked: from now on comparisons with 0 know.
  // Not for needs that a choice may guard (where(x != 0, 1 / x, 0) is defined at 0).
  void assume(const std::vector<Obligation>& needs);
  uint64_t assumptions_used = 0;
  // Lanes that are sums of squares: the larger of such a value, or of a small positive rational
  // multiple, and 0 is the value.
  void note_nonnegative(const Row& row, uint32_t mask);

  // The image is num / den, both below 2^bits. A random image passes with odds below 2^(2 bits -
  // 49).
  bool rational(double image, int bits, int64_t* num, int64_t* den) const;
  const PrimePair& primes() const { return primes_; }
  // Probability bound of a false equality for a cone of `nodes` operations of degree at most
  // `degree`.
  double error_bound(double degree) const { return degree / 2.8e14; }

 private:
  struct Pair {
    double v = 0, e = 0;
  };
  struct Pred {
    double a = 0, b = 0;
    // 1: a > b; 2: a >= b; 3: a == b; 4: a != b; 5: a == b and i < j; 6: a > b, or a == b and i <
    // j; 7: a >= b and i < j
    uint8_t kind = 0;
    double i = 0, j = 0;  // kinds 1, 2: e images of a, b; 5 to 7: images of the indices
  };
  // An index that was chosen together with the value it belongs to: the set of (value, index)
  // pairs.
  struct ArgForm {
    double value = 0;       // image of the extremum over the set
    double lo = 0, hi = 0;  // smallest and largest index
    bool is_max = true, set = false;
    double truth = -1;                       // the indices are 1 and 0: the predicate itself
    double other_value = -1, other_set = 0;  // as an index of the other extremum: value, image
  };
  bool compare_truth(Fn fn, double a, double b, Row& out, int l);
  bool compare_index(Fn fn, double a, double b, Row& out, int l);
  struct Bound {  // z > t, z < t; >=, <= unless strict
    double z = 0, t = 0;
    bool lower = false, strict = false;
  };
  struct Facts;
  void copy_facts(Facts& from, double image, Facts& to);
  bool bound_of(const Pred& p, Bound* out);
  bool exclusive(const Pred& x, const Pred& y);
  bool implies(const Pred& x, const Pred& y);
  static Pred negated(const Pred& p);
  void combine_preds(Fn fn, Pred a, Pred b, double result);
  bool arg_set(const Pred& p, Pair x, Pair y, bool is_max, ArgForm* out, double* joined);
  bool arg_select(const Pred& p, double truth, Pair x, Pair y, Pair* out);
  bool arg_form(double index, double value, bool is_max, ArgForm* out, double* set_image);
  struct IntForm {  // scale * symbol + shift, symbol in [lo, hi)
    Pair symbol;
    int64_t scale = 1, shift = 0, lo = 0, hi = 0;
  };
  void int_compare(Fn fn, const IntForm& f, int64_t k, bool left, Row& out, int l);
  Pair indicator1(const IntForm& f, int64_t k);
  void int_laws(Fn fn, const Row& a, const Row& b, const Row& out, uint32_t mask);
  // plain + c ln(core) = c ln(arg), arg = core e^(plain / c); c in F_p and Z_q.
  struct LogForm {
    double c_p = 0, c_q = 0, arg = 0;
    bool set = false;
    double core = 1;
    Pair plain;
  };
  // c |x|, and with it what such products with one another are: c |x| d |x| = c d x x.
  struct AbsForm {
    Pair x, c;  // of x and -x the one with the smaller image
  };
  Pair log_image(const LogForm& f);
  const LogForm* find_log(double image, LogForm& scratch);
  const Row& typed(const Row& in, Ty type, Row& scratch, uint32_t mask, bool keep_lazy = false);
  void real(Fn fn, Ty type, const Mods& mods, const Row& a, const Row& b, const Row& c, Row& out,
            uint32_t mask);
  bool plain(Fn fn, const Mods& mods, const Row* a, const Row* b, const Row* c, uint32_t mask);
  void ring(Fn fn, const Row& a, const Row& b, const Row* c, Row& out, uint32_t mask);
  static void copy_marks(const Row& from, int from_lane, Row& to, int lane);
  void tainted_product(const Row& a, const Row& b, double* v, double* e, uint32_t mask) const;
  void opaque(Fn fn, const Row* a, const Row* b, const Row* c, Row& out, uint32_t mask);
  void odd_even(Fn fn, const Row& a, bool odd, Row& out, uint32_t mask);
  void mul(const Row& a, const Row& b, Row& out, uint32_t mask);
  void add(const Row& a, const Row& b, Row& out, uint32_t mask);
  void sub(const Row& a, const Row& b, Row& out, uint32_t mask);
  void neg(const Row& a, Row& out, uint32_t mask);
  void inverse(const Row& a, Row& out, uint32_t mask);
  void exp_of(const Row& a, double scale_q, Row& out, uint32_t mask);
  void log_of(const Row& a, double scale_p, double scale_q, Row& out, uint32_t mask);
  void sqrt_of(const Row& a, Row& out, uint32_t mask);
  void pow_of(const Row& a, const Row& b, Row& out, uint32_t mask);
  void extremum(bool is_max, const Row& a, const Row& b, Row& out, uint32_t mask);
  Pair extremum1(bool is_max, Pair a, Pair b);
  Pair extremum_again(bool is_max, Pair a, Pair b);
  Pair join_leaves(bool is_max, const std::vector<Pair>& leaves);
  Pair set_pair(MaxSets& sets, double image);
  bool is_nonnegative(double image);
  Pair force(uint32_t node);
  void force_lanes(Row& row, uint32_t mask);
  void type_lanes(const Row& in, Ty type, Row& scratch, uint32_t mask);
  uint32_t lazy_leaf(bool is_max, Pair p);
  Pair relu1(Pair d) const;
  Pair abs1(Pair x);
  void abs_laws(const Row& a, const Row& b, Row& out, uint32_t mask);
  Pair sub1(Pair a, Pair b) const;
  Pair add1(Pair a, Pair b) const;
  Pair root1(Pair a);
  Pair pair_of(double image);
  void compare(Fn fn, const Row& a, const Row& b, Row& out, uint32_t mask);
  void logic(Fn fn, const Row& a, const Row& b, Row& out, uint32_t mask);
  void select(Ty type, const Row& p, const Row& a, const Row& b, Row& out, uint32_t mask);
  void fix_special(Fn fn, const Row& a, const Row& b, Row& out, uint32_t mask);
  void log_laws(Fn fn, const Row& a, const Row& b, Row& out, uint32_t mask);
  Pair select1(Ty type, Pair cond, Pair x, Pair y);
  void select_truth(const Row& p, const Row& a, const Row& b, Row& out, int l);
  bool select_union(Ty type, double c, Pair x, Pair y, Pair* out);
  bool is_tail(Pair w, double at, Pair f, Pair g, double half_unit, const char** name);
  bool fold_tail(const Pred& pred, Ty type, Pair x, Pair y, Pair* out);
  Pair literal(Ty type, double value);
  Pair bits_pair(Ty type, uint64_t bits);
  Pair ideal_pair(const Ideal& ideal);
  void fold_integers(Fn fn, Ty type, const Mods& mods, const Row& a, const Row& b, const Row& c,
                     Row& out, uint32_t mask);
  void note_constants(Fn fn, Ty type, const Row& a, const Row& b, const Row& c, Row& out,
                      uint32_t mask);
  void oblige(Obligation::Kind kind, const Row& a, uint32_t mask);
  // The sign of x - y by what is assumed: 1 or -1; 2: not 0; 0: nothing is known.
  int assumed_sign(double x, double y) const;
  double e_hash(double v) const { return to_element(mix64(std::bit_cast<uint64_t>(v) ^ salt_e_)); }
  uint64_t salt(Fn fn) const { return mix64(seed_ * 977 + static_cast<uint64_t>(fn) + 1); }

  PrimePair primes_;
  const Snapper& snapper_;
  uint64_t seed_, salt_v_, salt_e_;
  bool with_exp_, log_laws_;
  bool have_logs_ = false, have_roots_ = false, have_abs_ = false;
  std::unordered_set<double> nonzero_, positive_;  // assumed; of x and -x the smaller image
  std::unordered_set<double> nonnegative_;         // noted
  std::vector<double> nonnegative_inverses_;       // of the first few
  std::unordered_map<double, bool> multiples_;     // images compared with these
  double ln2_p_, ln2_q_, ln10_p_, ln10_q_, sqrt_pi_p_, sqrt_pi_q_;
  double neg_max_f32_, neg_max_f64_, neg_max_f16_;
  Ty op_type_ = Ty::F64;  // of the operation at hand
  bool is_lowest(double image) const;
  // Extrema whose image nobody has asked for: a leaf (which a node with an image becomes), a node
  // and a leaf, or two nodes. A row of 400,000 elements makes as many, on each side.
  struct LazyNode {
    enum Kind : uint8_t { Leaf, Append, Join };
    uint64_t sum = 0;  // of the hashes of its leaves, with repetitions
    Pair value;        // the leaf; of a Join, in v: the number of the right node
    uint32_t left = 0;
    uint32_t count : 29 = 1;
    uint32_t is_max : 1 = 1;
    uint32_t kind : 2 = Leaf;

    LazyNode() = default;
    LazyNode(uint64_t s, Pair v, uint32_t l, uint32_t n, bool max, Kind k)
        : sum(s), value(v), left(l), count(n & 0x1fffffffu), is_max(max), kind(k) {}
    static LazyNode join(uint32_t l, const LazyNode& x, uint32_t r, const LazyNode& y) {
      return {
          x.sum + y.sum, {static_cast<double>(r), 0}, l, uint32_t{x.count} + y.count, x.is_max != 0,
          Join};
    }
    uint32_t right() const { return static_cast<uint32_t>(value.v); }
  };
  static_assert(sizeof(LazyNode) == 32);
  uint32_t lazy_node(const LazyNode& node);
  uint64_t leaf_hash(Pair p) const { return mix64(std::bit_cast<uint64_t>(p.v) ^ seed_); }
  struct Recent {  // an extremum of two
    double a = -1, b = -1;
    bool is_max = true;
    Ty type = Ty::None;
    Pair result;
  };
  struct Chosen {  // cond ? x : y
    double cond = 0;
    Pair x, y;
  };
  // What is known about images beyond the images themselves.
  struct Facts {
    Facts(uint64_t max_salt, uint64_t min_salt, const Modulus& p)
        : maxes(max_salt, p), mins(min_salt, p) {}
    std::unordered_map<uint64_t, Pair> extrema;  // of lazy nodes by their leaves
    MaxSets maxes, mins, args{0x6a26};
    ImageMap<Pair> literals;      // by type and bits
    ImageMap<double> exponents;   // image of a set or leaf of one -> its e image
    ImageMap<double> constants;   // image -> value
    ImageMap<LogForm> logs;       // image -> c ln(arg)
    ImageMap<double> plain_logs;  // image -> arg, of ln(arg)
    ImageMap<Pair> squares;       // image of a root -> its square (v, e)
    ImageMap<AbsForm> absolutes;  // image of c |x|
    ImageMap<Pred> preds;
    ImageMap<std::array<double, 2>> unions;  // image of P or Q that exclude each other -> P, Q
    ImageMap<Chosen> selects;                // by a bound of one value, to which no law applied
    ImageMap<ArgForm> arg_forms;             // image of an index -> what it is the index of
    ImageMap<std::array<double, 4>> packs;   // image -> (lo v, lo e, hi v, hi e)
    ImageMap<IntForm> ints;                  // integers that are affine in one symbol
    ImageMap<Pair> last_indicator;           // image of a symbol -> that of its largest value
    template <class F>
    void for_each_map(F&& f) {
      f(literals), f(exponents), f(constants), f(logs), f(plain_logs), f(squares), f(absolutes);
      f(preds), f(unions), f(selects), f(arg_forms), f(packs), f(ints), f(last_indicator);
    }
    struct Sizes {
      std::array<size_t, 14> maps;
      std::array<MaxSets::Size, 3> sets;
      size_t total = 0;
    };
    Sizes sizes();
    void truncate(const Sizes& sizes);
  };
  Facts facts_;
  std::optional<Facts::Sizes> kept_;  // by keep_facts
  std::vector<LazyNode> lazy_{1};
  std::array<Recent, 256> recent_;
  std::unordered_map<uint64_t, std::pair<int64_t, int64_t>> int_ranges_;
};

}  // namespace assay::term
