# ./assay lint [--seconds N]: every finding fails. clang-tidy is slow, so it takes the files that
# changed in the last commits first and stops at the time limit, saying how far it came.
run_lint() {
  local limit=100000 failed=0
  [[ ${1:-} == --seconds ]] && limit=$2
  install_packages check
  install_wheels "$cache/tools" "$ruff_wheel"
  build_target programs # compile_commands.json and generated files
  cd "$root"
  "$cache/tools/bin/ruff" check -q python tests || failed=1
  shellcheck assay scripts/*.sh .ci/run || failed=1
  tidy_files "$limit" || failed=1
  return $failed
}

# Sources that the last commits changed, newest first, then all in an order that differs from commit
# to commit, so that a time limit leaves no file out for good.
tidy_order() {
  local head
  head=$(git rev-parse HEAD)
  git log --format= --name-only -n 30 -- 'src/*.cpp'
  git ls-files 'src/*.cpp' | shuf --random-source=<(yes "$head")
}

tidy_files() {
  local deadline=$((EPOCHSECONDS + $1)) files=() file out=$build/tidy failed=0 done_count=0
  while read -r file; do
    [[ -e $file ]] && grep -qF "/$file\"" "$build/compile_commands.json" && files+=("$file")
  done < <(tidy_order | awk '!seen[$0]++')
  rm -rf "$out" && mkdir -p "$out"
  # Two or more at a time; each leaves its output and its exit status in files. Warning options that
  # only GCC knows are no findings.
  printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "${ASSAY_JOBS:-$(nproc)}" bash -c '
    ((EPOCHSECONDS >= $1)) && exit 0
    name=$2/${4//\//_}
    clang-tidy-14 --quiet --extra-arg=-Wno-unknown-warning-option -p "$3" "$4" \
      >"$name.out" 2>"$name.err" && : >"$name.ok"
    exit 0' tidy "$deadline" "$out" "$build"
  for file in "${files[@]}"; do
    local name=$out/${file//\//_}
    [[ -e $name.out ]] || continue
    done_count=$((done_count + 1))
    [[ -e $name.ok ]] || {
      cat "$name.out"
      failed=1
    }
  done
  say "clang-tidy: $done_count of ${#files[@]} files looked at"
  return $failed
}
