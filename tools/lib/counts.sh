# Counts of passed, failed and skipped tests, taken from what a step printed. Sourced, not run.
#
# Each function prints "PASSED FAILED SKIPPED" and always one line. A step that ended without
# saying how many tests it ran, ran none, or left with an error, has at least one failure.

# swift_testing_counts LOG EXIT_STATUS: reads the output of `swift test`.
swift_testing_counts() {
  local log="$1" status="$2" closing total failed skipped passed
  closing="$(grep -aE 'Test run with [0-9]+ tests? in [0-9]+ suites? (passed|failed) after' "$log" |
    tail -n 1 || true)"
  failed="$(grep -aE '^[^ ]+ Test .* failed after [0-9.]+ seconds' "$log" |
    grep -avcE '^[^ ]+ Test run with ' || true)"
  skipped="$(grep -acE '^[^ ]+ Test .* skipped(: |\.|$)' "$log" || true)"
  if [ -z "$closing" ]; then # It crashed: what had passed until then, and the crash.
    passed="$(grep -aE '^[^ ]+ Test .* passed after [0-9.]+ seconds' "$log" |
      grep -avcE '^[^ ]+ Test run with ' || true)"
    echo "$passed $((failed + 1)) $skipped"
    return
  fi
  total="$(sed -E 's/.*Test run with ([0-9]+) tests?.*/\1/' <<<"$closing")"
  if [ "$failed" -eq 0 ] &&
    { [ "$status" -ne 0 ] || ! grep -q ' passed after' <<<"$closing"; }; then
    failed=1 # A failure that belongs to no test, for instance in a suite's own set-up.
    total=$((total + 1))
  fi
  passed=$((total - failed - skipped))
  if [ "$passed" -lt 0 ]; then passed=0; fi
  if [ $((total - skipped)) -le 0 ]; then failed=1; fi # Nothing ran: a filter that matches nothing.
  echo "$passed $failed $skipped"
}

# closing_line_counts LOG EXIT_STATUS: reads the output of our own scripts, whose last line is
# `N passed, N failed` or `N passed, N failed, N skipped`.
closing_line_counts() {
  local log="$1" status="$2" closing passed failed skipped
  closing="$(tail -n 1 "$log" |
    grep -aE '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' || true)"
  if [ -z "$closing" ]; then
    echo "0 1 0"
    return
  fi
  read -r passed _ failed _ skipped _ <<<"$(tr -d ',' <<<"$closing") 0"
  skipped="${skipped:-0}"
  if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
  if [ $((passed + failed + skipped)) -eq 0 ]; then failed=1; fi
  echo "$passed $failed $skipped"
}

# exit_status_counts LOG EXIT_STATUS: a step that is one check.
exit_status_counts() {
  if [ "$2" -eq 0 ]; then echo "1 0 0"; else echo "0 1 0"; fi
}
