# ./assay test [-R REGEX] [CTEST OPTION...]: unit and text tests, then, without options, Python
# tests. Tests that need a GPU run where there is one.
run_test() {
  build_target all
  find_nvcc
  local failed=0 exclude=()
  [[ -e /dev/nvidiactl || " $* " == *' -LE '* ]] || exclude=(-LE gpu)
  # These two are about the address space of the confined child (its limit, and device addresses
  # being unmapped), which the address sanitizer takes for itself. They run in every other preset.
  [[ $preset != asan-ubsan ]] || export GTEST_FILTER=-Attack.Memory:Attack.Crashes
  (cd "$build" && ctest --output-on-failure --no-tests=error -j "${ASSAY_JOBS:-$(nproc)}" \
    "${exclude[@]}" "$@") || failed=1
  if (($# == 0)); then
    find_python
    (cd "$root" && PYTHONPATH=$root/python ASSAY_HOME=$build "$ASSAY_PYTHON" -m pytest tests/python) ||
      failed=1
  fi
  return $failed
}
