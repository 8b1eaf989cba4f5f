# ./assay fuzz [SECONDS]: every libFuzzer target for so long in all (default 60). Finds are kept in
# build/fuzz/finds; each becomes a text test.
run_fuzz() {
  local seconds=${1:-60} target failed=0 targets=()
  install_packages check
  preset=fuzz build=$root/build/fuzz
  build_target fuzzers
  mapfile -t targets < <(find "$build" -maxdepth 3 -type f -name '*_fuzz' -perm -u+x)
  ((${#targets[@]})) || die "no fuzz target was built"
  for target in "${targets[@]}"; do
    local name=${target##*/}
    local corpus=$build/corpus/$name finds=$build/finds/
    mkdir -p "$corpus" "$finds"
    # Seeds, where the target has some, are only read.
    local seeds=$root/tests/fuzz/seeds/$name
    [[ -d $seeds ]] || seeds=
    "$target" -max_total_time=$((seconds / ${#targets[@]} + 1)) -timeout=10 -rss_limit_mb=4096 \
      -print_final_stats=1 -artifact_prefix="$finds" "$corpus" ${seeds:+"$seeds"} \
      >"$build/$name.log" 2>&1 || failed=1
    grep -E 'ERROR|SUMMARY|stat::number_of_executed_units' "$build/$name.log" |
      sed "s/^/$name: /" || true
  done
  ((failed == 0)) || say "the finds are in $build/finds, the logs in $build/*.log"
  return $failed
}
