#!/bin/sh
# Values of M: what they promise by themselves, and random ones beside fis-gtm, where that is installed.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
program=$build/caret-m
[ -x "$program" ] || { echo "skipped: caret-m is not built" && exit 77; }

values()
{
    "$program" -lua "$source/test/m/$1" $2 $3 >"$dir/out" 2>"$dir/err"
    note $? "$4"
}

values test_values.lua "" "" "limits, patterns, pieces"
CARET_DB=$dir/db
CARET_M=$program
export CARET_DB CARET_M
"$program" -lua "$source/test/m/test_traces.lua" "$dir" >"$dir/out" 2>"$dir/err"
status=$?
[ $status -eq 77 ] || note $status "hot code becomes traces"
values test_hot.lua "$dir" "" "two answers in hot code are those of cold code"
export gtm_dist="${gtm_dist:-/usr/lib/x86_64-linux-gnu/fis-gtm/V7.0-005_x86_64}"
if [ -x "$gtm_dist/mumps" ]; then
    values fuzz_values.lua 1 15000 "15,000 random cases as fis-gtm has them"
    values fuzz_expr.lua 1 2000 "2,000 random lines of M as fis-gtm runs them"
    ydb_chset=UTF-8
    export ydb_chset
    values fuzz_values.lua 2 5000 "5,000 in UTF-8 mode"
else
    echo "fis-gtm is not installed: no comparison"
fi
finish
