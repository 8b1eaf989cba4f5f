# Sourced by ./assay: finds or installs what building and running need. Every function is quiet and
# does nothing when there is nothing to do.

# Debian 12 packages, by purpose.
packages_build=(g++ cmake ninja-build ccache pkg-config libfmt-dev nlohmann-json3-dev libcli11-dev
  libexpected-dev libtomlplusplus-dev libzstd-dev libz3-dev libseccomp-dev libgtest-dev
  libbenchmark-dev llvm-14 python3-venv)
packages_check=(clang-format-14 clang-tidy-14 clang-14 libclang-rt-14-dev shellcheck git)
packages_package=(patchelf binutils)
packages_browser=(chromium chromium-driver)

# nvcc 13.0 from PyPI, for machines without a CUDA 13.0 toolkit: PTX of later ones is newer than a
# CUDA 13.0 driver reads. These five together compile, assemble and link.
nvcc_wheels=(nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88
  nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85)
# Reads machine instructions for map, diff and guard; cubins of CUDA 13 need one from 13 on.
nvdisasm_wheel=nvidia-cuda-nvdisasm==13.5.37
ruff_wheel=ruff==0.14.0

# Clones in other folders share what ccache holds.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=1

say() { printf 'assay: %s\n' "$*" >&2; }
die() {
  say "$@"
  exit 4
}

# stamped FILE TEXT: FILE holds TEXT, so the step that wrote it is done.
stamped() { [[ -r $1 && $(<"$1") == "$2" ]]; }
stamp() {
  mkdir -p "${1%/*}"
  printf '%s' "$2" >"$1"
}

# install_packages PURPOSE: the Debian packages of packages_PURPOSE.
install_packages() {
  local -n wanted=packages_$1
  stamped "$cache/packages-$1" "${wanted[*]}" && return
  command -v dpkg-query >/dev/null || die "this is no Debian system; needed are the Debian 12" \
    "packages: ${wanted[*]}. The archive that ./assay package makes runs elsewhere."
  local present missing=() name
  present=" $(dpkg-query -W -f '${db:Status-Abbrev}${binary:Package}\n' 2>/dev/null |
    sed -n 's/^ii *\([^:]*\).*/\1/p' | tr '\n' ' ') "
  for name in "${wanted[@]}"; do
    [[ $present == *" $name "* ]] || missing+=("$name")
  done
  if ((${#missing[@]})); then
    if ((EUID != 0)); then
      die "packages are missing; run: sudo apt-get install -y --no-install-recommends ${missing[*]}"
    fi
    say "installing Debian packages: ${missing[*]}"
    mkdir -p "$cache"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -q && apt-get install -y -q --no-install-recommends "${missing[@]}"; } \
      >"$cache/apt.log" 2>&1 || {
      tail -n 20 "$cache/apt.log" >&2
      die "apt-get failed; the whole log: $cache/apt.log"
    }
  fi
  stamp "$cache/packages-$1" "${wanted[*]}"
}

# install_wheels FOLDER WHEEL...: a virtual environment with these (or with -r FILE).
install_wheels() {
  local folder=$1 text mark=$1/assay-stamp
  shift
  text="$*"
  [[ $1 == -r ]] && text=$(<"$2") && mark+=-${2##*/}
  stamped "$mark" "$text" && return
  install_packages build
  say "installing Python packages into ${folder#"$root/"}: ${text//$'\n'/ }"
  # Debian's own interpreter: python3 on PATH may be a version manager's shim.
  local python=/usr/bin/python3
  [[ -x $python ]] || python=python3
  mkdir -p "$cache"
  { "$python" -m venv "$folder" && "$folder/bin/python" -m pip install -q "$@"; } \
    >"$cache/pip.log" 2>&1 || {
    tail -n 20 "$cache/pip.log" >&2
    die "pip failed; the whole log: $cache/pip.log"
  }
  stamp "$mark" "$text"
}

# ASSAY_PYTHON: a Python with torch, for the export of references and the Python tests.
find_python() {
  if [[ -z ${ASSAY_PYTHON:-} ]]; then
    install_wheels "$root/.venv" -r "$root/requirements.txt"
    export ASSAY_PYTHON=$root/.venv/bin/python
  fi
}

# ASSAY_PYTHON likewise, with what `assay corpus` needs; one that was given tells what it lacks.
find_corpus_python() {
  local given=${ASSAY_PYTHON:-}
  find_python
  [[ -n $given ]] || install_wheels "$root/.venv" -r "$root/requirements-corpus.txt"
}

# is_nvcc_13_0 FILE: asking takes 10 ms or more, so the answer is kept by path and time stamp.
is_nvcc_13_0() {
  [[ -x $1 ]] || return 1
  local key known
  key="$1 $(stat -L -c %Y "$1")"
  stamped "$cache/nvcc" "$key" && return
  known=$("$1" --version 2>/dev/null) || return 1
  [[ $known == *'release 13.0,'* ]] || return 1
  stamp "$cache/nvcc" "$key" 2>/dev/null || true
}

# ASSAY_NVCC: as given, else 13.0 on PATH, else in /usr/local/cuda*, else from PyPI.
find_nvcc() {
  [[ -n ${ASSAY_NVCC:-} ]] && return
  local candidate
  for candidate in "$(type -P nvcc || true)" /usr/local/cuda/bin/nvcc \
    /usr/local/cuda-13.0/bin/nvcc; do
    if is_nvcc_13_0 "$candidate"; then
      export ASSAY_NVCC=$candidate
      return
    fi
  done
  install_wheels "$cache/nvcc-13.0" "${nvcc_wheels[@]}"
  candidate=("$cache"/nvcc-13.0/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
  [[ -x ${candidate[0]} ]] || die "no nvcc in $cache/nvcc-13.0; remove that folder and try again"
  export ASSAY_NVCC=${candidate[0]}
}

# ASSAY_NVDISASM: as given, else on PATH or beside nvcc, else from PyPI. Maps count PTX instructions
# where there is none, so a machine without network goes on without it.
find_nvdisasm() {
  [[ -n ${ASSAY_NVDISASM:-} ]] && return
  local candidate
  candidate=$(type -P nvdisasm || true)
  [[ -n $candidate ]] || candidate=${ASSAY_NVCC%/*}/nvdisasm
  if [[ ! -x $candidate ]]; then
    (install_wheels "$cache/nvdisasm" "$nvdisasm_wheel") || return 0
    candidate=("$cache"/nvdisasm/lib/python3*/site-packages/nvidia/cu13/bin/nvdisasm)
  fi
  export ASSAY_NVDISASM=${candidate[0]}
}

# build_target programs|all: asks ninja only when a source is newer than the last build.
build_target() {
  local mark=$build/built-$1 watched=(src cmake CMakeLists.txt CMakePresets.json)
  [[ $1 == all ]] && watched+=(tests)
  if [[ -e $mark ]]; then
    local newer
    newer=$(cd "$root" && find "${watched[@]}" -newer "$mark" -print -quit)
    [[ -n $newer ]] || return 0
  fi
  install_packages build
  find_nvcc # its headers declare what the stand-in runtime defines
  local log=$build/build.log start=$SECONDS include
  for include in "${ASSAY_NVCC%/bin/*}"/include "${ASSAY_NVCC%/bin/*}"/targets/x86_64-linux/include; do
    [[ -e $include/cuda_runtime_api.h ]] && break
  done
  mkdir -p "$build"
  touch "$mark.new" # before the build: what changes while it runs is seen next time
  if [[ ! -e $build/build.ninja || $root/CMakePresets.json -nt $build/build.ninja ]]; then
    say "configuring build/$preset"
    (cd "$root" && cmake --preset "$preset" -D "ASSAY_CUDA_INCLUDE=$include") >"$log" 2>&1 || {
      tail -n 30 "$log" >&2
      die "cmake failed; the whole log: $log"
    }
  fi
  say "building $1 in build/$preset"
  if [[ -n ${CI:-} ]]; then
    cmake --build "$build" --target "$1" -j "${ASSAY_JOBS:-$(nproc)}" 2>&1 | tee "$log"
  else
    cmake --build "$build" --target "$1" -j "${ASSAY_JOBS:-$(nproc)}" >"$log" 2>&1 || {
      grep -A 12 -E 'error|FAILED' "$log" | head -n 60 >&2
      die "the build failed; the whole log: $log"
    }
  fi
  say "built in $((SECONDS - start)) s"
  mv "$mark.new" "$mark"
}
