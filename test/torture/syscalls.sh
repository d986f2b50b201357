#!/bin/sh
# Each system call of the script fails, none left out; and each of each operation in each state: 20,000 cases and more.

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
CARET_FAIL_MOST=0 "$CARET_BUILD/test/test_log_syscalls" >"$log" 2>&1
status=$?
grep -e 'cases' -e 'fails with' -e 'skipped:' "$log"
CARET_MATRIX=1 "$CARET_BUILD/test/test_log_matrix" >"$log" 2>&1 || status=1
grep -e 'cases' -e 'fails with' -e 'skipped:' "$log"
exit "$status"
