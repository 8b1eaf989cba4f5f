// assay-confined WORK_DIR CPU_SECONDS COMMAND...: becomes the command, confined. Before that it
// writes one line to descriptor 3: the mechanisms of confinement that this kernel lacks.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>

#include "host/standalone/confine.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: assay-confined WORK_DIR CPU_SECONDS COMMAND...\n");
    return 126;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  assay::host::Confinement c;
  c.foreign = assay::host::Foreign::Program;
  c.work_dir = argv[1];
  c.cpu_seconds = strtoull(argv[2], nullptr, 10);
  std::string line;
  for (const std::string& m : assay::host::confine(c)) line += (line.empty() ? "" : " ") + m;
  line += "\n";
  if (write(3, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return 126;
  execvp(argv[3], argv + 3);
  fprintf(stderr, "cannot run %s: %s\n", argv[3], strerror(errno));
  return 127;
}
