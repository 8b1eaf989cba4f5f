# ./assay demo: runs the lines of examples/demo.txt and compares their exit codes with those said
# there. Lines: "# text" is printed; "CODE WORDS..." runs `assay WORDS...` in the folder examples.
run_demo() {
  local line code words got failed=0
  cd "$root/examples"
  while IFS= read -r line; do
    case $line in
      '#'*)
        line=${line#\#}
        printf '%s\n' "${line# }"
        ;;
      [0-9]' '*)
        code=${line%% *} words=${line#* } got=0
        printf '\n$ ./assay %s\n' "$words"
        # shellcheck disable=SC2086 # words of the line are the words of the command
        "$build/bin/assay" $words </dev/null || got=$?
        printf '(exit code %d)\n\n' "$got"
        if ((got != code)); then
          say "exit code $got, expected $code: assay $words"
          failed=1
        fi
        ;;
    esac
  done <demo.txt
  return $failed
}
