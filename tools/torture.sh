#!/bin/sh
# The long forms of the tests, hours if need be: every test/torture/*.sh, one after the other.
#
#   tools/torture.sh [name...]     only those; CARET_TORTURE=n makes each n times as long
#
# Each prints its counts; the last line is "N passed, N failed".  The small build is used:
# its tiny pages and tables make splits, wraps and growth happen all the time.

set -u
cd "$(dirname "$0")/.." || exit 1
export CARET_SOURCE="$PWD" CARET_BUILD="$PWD/build-small" CARET_TORTURE="${CARET_TORTURE:-1}"
mkdir -p build/test-log
if ! { cmake --preset small && cmake --build --preset small; } >build/test-log/torture-build.log 2>&1; then
    tail -n 40 build/test-log/torture-build.log
    exit 1
fi

passed=0
failed=0
for script in test/torture/*.sh; do
    name=$(basename "$script" .sh)
    case " ${*:-$name} " in
    *" $name "*) ;;
    *) continue ;;
    esac
    echo "== $name"
    start=$(date +%s)
    if sh "$script"; then
        passed=$((passed + 1))
        echo "   passed in $(($(date +%s) - start)) s"
    else
        failed=$((failed + 1))
        echo "   FAILED after $(($(date +%s) - start)) s"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
