#!/bin/sh
# M at length: 1,000 routines of old code, and random programs beside fis-gtm where that is installed.

# shellcheck source=../run/common.sh
. "$CARET_SOURCE/test/run/common.sh"
need luajit
[ -x "$build/caret-m" ] || { echo "skipped: caret-m is not built" && exit 77; }

mkdir "$dir/big"
luajit "$source/test/m/big.lua" "$dir/big" 1000 110 >"$dir/out"
cd "$dir/big" || exit 1
ydb_routines=. CARET_DB=$dir/big.caret "$build/caret-m" -run BIG >"$dir/out" 2>"$dir/err"
grep -qx 'SUM=1529138' "$dir/out"
note $? "1,000 routines give the number that fis-gtm gives"

CARET_DB=$dir/hot.caret "$build/caret-m" -lua "$source/test/m/test_hot.lua" "$dir" "${CARET_SEED:-1}" 5000 \
    >"$dir/out" 2>"$dir/err"
note $? "5,000 random pairs of answers in hot code are those of cold code"

PROGRAM=$build/caret-m luajit "$source/test/m/fuzz_programs.lua" "${CARET_SEED:-1}" "${CARET_M_PROGRAMS:-2000}" \
    >"$dir/out" 2>"$dir/err"
status=$?
[ $status = 77 ] || note $status "random programs print what they print on fis-gtm"
finish
