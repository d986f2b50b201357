#!/bin/sh
# The HTTP interface of `caret web`: each test/web/test_*.py, with the system's Python and nothing else.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret python3
export CARET="$caret" PYTHONDONTWRITEBYTECODE=1
XDG_STATE_HOME=$dir/state
export XDG_STATE_HOME

"$caret" set --db "$dir/try.caret" '^a' 1
keep timeout 1 "$caret" web --db "$dir/try.caret" --port 0
if grep -q 'is not installed\|has no page' "$dir/err"; then
    echo "skipped: $(cat "$dir/err")"
    exit 77
fi

for test in "$source"/test/web/test_*.py; do
    keep python3 "$test"
    note $? "$(basename "$test")"
done
keep sh "$source/test/with_postgres.sh" python3 "$source/test/web/address.py"
status=$?
if [ $status -eq 77 ]; then
    skip "no PostgreSQL here: a database by its address"
else
    note $status "address.py"
fi
finish
