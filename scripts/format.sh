# ./assay format [--check]: clang-format 14 and ruff over the files that git tracks. Kernels of
# tests/pairs stay as their authors wrote them.
run_format() {
  install_packages check
  install_wheels "$cache/tools" "$ruff_wheel"
  local failed=0 clang=(-i) ruff=()
  [[ ${1:-} == --check ]] && clang=(--dry-run -Werror) ruff=(--check)
  cd "$root"
  git ls-files -z '*.h' '*.cpp' '*.cuh' 'examples/*.cu' ':!src/host/include' |
    xargs -0 -r -n 40 clang-format-14 "${clang[@]}" || failed=1
  "$cache/tools/bin/ruff" format -q "${ruff[@]}" python tests || failed=1
  ((failed == 0)) || say "not in the house format; ./assay format mends it"
  return $failed
}
