# ./assay package [FOLDER]: assay-VERSION-linux-x86_64.tar.gz, written to FOLDER (default: here);
# gzip, since a bare machine (Ubuntu 24.04, for one) has no zstd to unpack with.
# It unpacks anywhere and runs with glibc 2.36 or newer: every other library is inside. Kernels in
# .cu need nvcc 13.0 and g++ on the machine, references in .py a Python with PyTorch.
run_package() {
  local out=${1:-$PWD} version name stage file
  install_packages package
  build_target all
  version=$("$build/bin/assay" version | awk '{print $2}')
  name=assay-$version-linux-x86_64
  stage=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$stage'" EXIT
  local top=$stage/$name
  mkdir -p "$top/bin" "$top/lib/cxx" "$top/libexec/assay/tests" "$top/share/assay"
  cp "$build/bin/assay" "$top/bin/"
  ln -s bin/assay "$top/assay"
  cp "$root/README.md" "$top/"
  # Links of the build folder become files; what only a developer needs stays behind.
  cp -rL "$build/share/assay/." "$top/share/assay/"
  cp -a "$build/libexec/assay/." "$top/libexec/assay/"
  cp "$root/requirements.txt" "$root/requirements-corpus.txt" "$top/share/assay/"
  find "$top" \( -name __pycache__ -o -name .gitkeep \) -prune -exec rm -rf {} +
  add_gpu_tests "$top"
  # Foreign code is loaded into the helper programs, and it was built with the machine's own
  # compiler: they take the machine's libstdc++. The program itself brings its own.
  add_libraries "$top" "$top/bin/assay" lib/cxx
  while IFS= read -r -d '' file; do
    is_elf "$file" && add_libraries "$top" "$file" ""
  done < <(find "$top/libexec" -type f -print0)
  chmod -R u=rwX,go=rX "$top"
  check_glibc "$top"
  local when
  when=$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)
  tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$when" -cf - "$name" |
    gzip -n >"$out/$name.tar.gz"
  say "written: $out/$name.tar.gz ($(du -h "$out/$name.tar.gz" | cut -f1))"
}

is_elf() { [[ $(head -c 4 "$1" | tr -d '\0') == $'\x7fELF' ]]; }

# add_libraries TOP FILE CXX: the shared libraries that FILE needs, but glibc's, into lib; libstdc++
# and libgcc_s into CXX, or left to the machine where CXX is empty. FILE then finds them.
add_libraries() {
  local top=$1 file=$2 cxx=$3 line library path to up
  up=$(realpath --relative-to="${file%/*}" "$top")
  while read -r line; do
    library=${line%% *} path=$(awk '{print $3}' <<<"$line")
    [[ $path == /* ]] || continue
    case $library in
      libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libutil.so.*) continue ;;
      libstdc++.so.* | libgcc_s.so.*) to=$cxx ;;
      *) to=lib ;;
    esac
    [[ -n $to && ! -e $top/$to/$library && $path != "$top"/* ]] || continue
    cp -L "$path" "$top/$to/$library"
    patchelf --set-rpath '$ORIGIN' "$top/$to/$library"
  done < <(ldd "$file" 2>/dev/null)
  patchelf --set-rpath "\$ORIGIN:\$ORIGIN/$up/lib${cxx:+:\$ORIGIN/$up/$cxx}" "$file"
}

# What runs where there is a GPU: libexec/assay/tests/run.
add_gpu_tests() {
  local top=$1 test
  cmake --build "$build" --target record_opcodes -j "${ASSAY_JOBS:-$(nproc)}" >>"$build/build.log" ||
    die "record_opcodes does not build; the whole log: $build/build.log"
  for test in "$build"/tests/gpu/opcodes/record_opcodes "$build"/*_gpu_tests; do
    [[ -x $test ]] && cp "$test" "$top/libexec/assay/tests/"
  done
  cat >"$top/libexec/assay/tests/run" <<'RUN'
#!/bin/sh
# Runs every GPU test of this package; exit code 1 if one fails. run [FOLDER]: what the GPU gives
# for every opcode is left in FOLDER, for tests/gpu/opcodes of the repository.
here=$(cd "$(dirname "$0")" && pwd)
export ASSAY_HOME="$here/../../.."
failed=0
out=${1:-$(mktemp -d)}
"$here/record_opcodes" "$out" && echo "recorded: $out" || failed=1
for test in "$here"/*_gpu_tests; do
  [ ! -x "$test" ] || "$test" || failed=1
done
exit $failed
RUN
  chmod +x "$top/libexec/assay/tests/run"
}

# No file may need a glibc newer than Debian 12's.
check_glibc() {
  local newest
  newest=$(find "$1" -type f \( -perm -u+x -o -name '*.so*' \) -exec sh -c '
    for f; do objdump -T "$f" 2>/dev/null; done' sh {} + | grep -o 'GLIBC_2\.[0-9]*' |
    sort -u -t . -k 2 -n | tail -n 1)
  say "the newest glibc symbol needed is $newest"
  [[ ${newest#GLIBC_2.} -le 36 ]] || die "the package would need $newest"
}
