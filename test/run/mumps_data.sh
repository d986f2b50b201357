#!/bin/sh
# Data of M: local arrays beside globals, transactions begun again at each reference, workers that are killed.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
[ -x "$build/caret-m" ] || { echo "skipped: caret-m is not built" && exit 77; }
cp "$source"/test/m/data/*.m "$dir"
export CARET_DB="$dir/m.caret" CARET_ROUTINES="$dir"
cd "$dir" || exit 1

# lua what file arguments: a program that prints "ok" at the end
lua()
{
    what=$1
    shift
    "$build/caret-m" -lua "$@" >out 2>err && [ "$(tail -n 1 out)" = ok ]
    note $? "$what"
}
for seed in 1 2; do
    lua "a local array and a global are the same tree, seed $seed" "$source/test/m/data/trees.lua" $seed 8000
done
lua "transactions leave the same, wherever they begin again" "$source/test/m/data/restart.lua" "$dir"
lua "names of locals that nobody has are forgotten" "$source/test/m/data/names.lua"

m() { timeout "$patience" "$build/caret-m" -run "$@"; }
m "init^killworker" >out 2>err
note $? "accounts are made"
round=0
while [ $round -lt 4 ]; do
    workers=
    for _ in 1 2 3; do
        "$build/caret-m" -run work^killworker >out 2>err &
        workers="$workers $!"
    done
    before=$(m "count^killworker" 2>&1)
    tries=0
    while [ "$(m "count^killworker" 2>&1)" = "$before" ] && [ $tries -lt 200 ]; do tries=$((tries + 1)); done
    # shellcheck disable=SC2086 # several numbers
    kill -9 $workers
    wait 2>err
    round=$((round + 1))
done
m "check^killworker" >out 2>err
[ "$(cat out)" = 500011 ]
note $? "workers that were killed leave whole transactions and no locks"
finish
