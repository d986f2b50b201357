#!/bin/sh
# M: the conformance cases of test/m/conf, and 20 routines of old code, which give the number that fis-gtm gave.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need luajit
[ -x "$build/caret-m" ] || { echo "skipped: caret-m is not built" && exit 77; }

CONF_SECONDS=$patience CARET_BUILD=$build sh "$source/test/m/run.sh" >"$dir/conf" 2>&1
counts=$(tail -n 1 "$dir/conf")
passed=$((passed + ${counts%% passed*}))
wrong=${counts#*passed, }
failed=$((failed + ${wrong%% failed*}))
[ "${wrong%% failed*}" = 0 ] || head -n 60 "$dir/conf"

mkdir "$dir/big"
luajit "$source/test/m/big.lua" "$dir/big" 20 110 >"$dir/out"
cd "$dir/big" || exit 1
ydb_routines=. CARET_DB=$dir/big.caret timeout "$patience" "$build/caret-m" -run BIG >"$dir/out" 2>"$dir/err"
grep -qx 'SUM=12598' "$dir/out"
note $? "20 routines give the number that fis-gtm gives"
finish
