# ./assay test [-R REGEX] [CTEST OPTION...]: unit and text tests, then, without options, Python
# tests. Tests that need a GPU run where there is one.
run_test() {
  build_target all
  find_nvcc
  find_nvdisasm
  local failed=0 exclude=()
  [[ -e /dev/nvidiactl || " $* " == *' -LE '* ]] || exclude=(-LE gpu)
  # These two are about the address space of the confined child (its limit, and device addresses
  # being unmapped), which the address sanitizer takes for itself. They run in every other preset.
  [[ $preset != asan-ubsan ]] || export GTEST_FILTER=-Attack.Memory:Attack.Crashes
  (cd "$build" && ctest --output-on-failure --no-tests=error -j "${ASSAY_JOBS:-$(nproc)}" \
    "${exclude[@]}" "$@") || failed=1
  if (($# == 0)); then
    find_corpus_python
    # CI looks at the page of `assay corpus` in a browser; elsewhere that is skipped without one.
    if [[ -n ${CI:-} && $EUID == 0 ]]; then
      (install_packages browser) || say 'no browser: the test of the page is skipped'
    fi
    (cd "$root" && PYTHONPATH=$root/python ASSAY_HOME=$build "$ASSAY_PYTHON" -m pytest tests/python) ||
      failed=1
  fi
  return $failed
}
