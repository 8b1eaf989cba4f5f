#pragma once
// Host code that reads tensor data (`.item()`, copies to the host) is run several times with chosen
// values; what then changes in launch parameters is fitted to functions of the value read.
#include "host/sandbox.h"

namespace assay::host {

// Runs the request at least twice (other addresses: a parameter is a pointer only if it moves with
// its buffer), and more often if host code read tensor data. Changed 4- and 8-byte parameters
// become Program::scalars with slots; other changes, and parameters that no function fits, give the
// note "input-dependent-host-path" (severity "verdict": the recording holds for the first run's
// values only). Errors: those of run_confined.
Result<SandboxResult> run_probed(const SandboxRequest& request);

}  // namespace assay::host
