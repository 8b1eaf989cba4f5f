#pragma once
// What a check answers. A verdict is a value; report/ prints it, cli/ turns it into an exit code.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "program/program.h"
#include "program/witness.h"

namespace assay::check {

// In the order of "worst": the verdict of a check is the worst over its locations.
enum class VerdictKind : uint8_t { Proved, Approximation, Unknown, Unsupported, Refuted };
const char* verdict_name(VerdictKind k);  // "proved", ...
int verdict_exit_code(
    VerdictKind k);  // 0 proved, 6 approximation, 2 unknown, 3 unsupported, 1 refuted

enum class Severity : uint8_t { Info, Low, Medium, High };
const char* severity_name(Severity s);

// Stands beside any verdict; changes the exit code only under --fail-on KIND.
struct Finding {
  std::string kind;  // "racy-idiom", "hazard", "accuracy", "special-value", "other-shapes",
                     // "overflow-risk", "harness-cheat", "integer-range", "shape-differs",
                     // "default-parameters", "nondeterministic-rounding", "note", ...
  Severity severity = Severity::Info;
  std::string message;
  SrcLoc loc;
  std::string side = {};  // "candidate" or "reference" where both are kernels, else ""
};

// A single overridden element of an input of the witness.
struct Override {
  int argument = -1;  // index in Program::arguments of the reference
  std::string name;
  std::vector<int64_t> index;
  double value = 0;
};

// How the elements of one input that are not overridden are drawn: seed and distribution.
struct InputDraw {
  int argument = -1;
  std::string name;
  std::string distribution;  // "uniform(-1,1)*scale", "constant", "example"
  double scale = 1, shift = 0;
};

struct Witness {
  uint64_t seed = 0;
  std::vector<InputDraw> draws;
  std::vector<Override> overrides;
  std::string script;  // Python that shows it in PyTorch; empty if there is none
  std::optional<program::Witness> inputs;  // what the script is made from
  bool replayed = false;
  std::string replay;  // how it was replayed: "IEEE cone, real build", "GPU", ...
};

struct Location {
  int output = 0;  // index in outputs, then mutated
  std::string output_name;
  std::vector<int64_t> index;
};

// A location (or a group of them) that is not proved.
struct LocationResult {
  Location location;
  VerdictKind kind = VerdictKind::Unknown;
  std::string
      cls;  // refutation class: "value", "unwritten", "out-of-bounds", "nondeterministic",
            // "launch-refused", "endless", "undefined", "default-parameters", "race", "shape", ...
  std::string reason;                          // one sentence
  std::optional<double> candidate, reference;  // exact values on the witness
  std::optional<double> candidate_ieee, reference_ieee;
  double rho = 0;  // gap relative to the condition scale
  std::optional<Witness> witness;
  std::string differing;  // the differing part, as expressions
  SrcLoc loc;             // source line of the kernel that made it
  uint64_t count = 1;     // locations that share this result
  std::string side = {};  // "reference": what is wrong is wrong with the reference
};

struct OutputCoverage {
  std::string name;
  std::vector<int64_t> shape;
  uint64_t elements = 0, checked = 0, proved = 0;
  std::string argument;  // of an argument that is written: its source
};

// An intermediate tensor that both sides compute, proved equal element by element: what is proved
// of the outputs rests on it.
struct LemmaClaim {
  std::string candidate, reference;  // what computes it on each side
  uint64_t elements = 0,
           proved = 0;  // proved < elements: the outputs are equal given the rest, so Unknown
  uint64_t ctas = 0, checked = 0;  // that compute it, and those of which it was proved directly
  std::string how;                 // "all elements", "classes of CTAs", "a sample"
  SrcLoc loc;
};

struct Snap {
  std::string literal, ideal;  // "0.70710677f", "sqrt(1/2)"
};

struct Timing {
  std::string phase;
  double seconds = 0;        // wall clock
  double cpu_seconds = 0;    // of this process; 0: not measured
  uint64_t peak_memory = 0;  // bytes, of the process so far; 0: not measured
};

// What a witness script needs beside the witness (report/scripts.h).
struct Sides {
  std::vector<program::Argument> arguments;  // what the candidate takes, at the given shape
  std::string function;                      // its name
  bool functional = false;                   // the reference's module_fn takes the same
  std::string entry;
  bool eval = false;
};

// A check at one shape.
struct ShapeResult {
  std::string change;                        // "" for the given shape, else "batch_size=17"
  std::vector<program::Change> changed;      // the same, as Program::changed
  std::vector<program::Argument> arguments;  // what the candidate takes there
  VerdictKind kind = VerdictKind::Unknown;
  std::vector<OutputCoverage> outputs;
  std::vector<LemmaClaim> lemmas;
  std::vector<LocationResult> results;  // everything that is not Proved, worst first
};

struct Verdict {
  VerdictKind kind = VerdictKind::Unknown;
  std::string summary;              // one sentence
  std::vector<ShapeResult> shapes;  // [0]: the given shape
  std::vector<Finding> findings;
  std::vector<std::string> assumptions;
  std::vector<std::string> domain;  // what the proof ranges over, in words
  std::vector<Snap> snaps;
  double error_bound = 0;  // probability bound of fingerprint proofs; 0: exact
  std::vector<Timing> timings;
  uint64_t peak_memory = 0;          // bytes
  std::string candidate, reference;  // file names
  Sides sides;
};

}  // namespace assay::check
