#!/bin/sh
# fuzz_trees.sh FIRST LAST [N]: random changes of trees with caret-m and with fis-gtm, of each seed; what differs is
# shown. For development: fis-gtm is an optional package.
set -u
here=$(cd "$(dirname "$0")" && pwd)
program=${CARET_BUILD:-$here/../../../build}/caret-m
gtm_dist=$(ls -d /usr/lib/*/fis-gtm/V7* 2>/dev/null | head -n 1)
[ -x "$gtm_dist/mumps" ] || { echo "fis-gtm is not installed" && exit 77; }
dir=$(mktemp -d /tmp/caret-m-trees.XXXXXX)
trap 'rm -rf "$dir"' EXIT
export gtm_dist gtmgbldir="$dir/g.gld" gtm_side_effects=1 gtm_boolean=1
export CARET_DB="$dir/g.caret" CARET_ROUTINES="$dir" gtm_lct_stdnull=1
gtmroutines="$dir $gtm_dist/libgtmutil.so"
export gtmroutines
cd "$dir" || exit 1
printf 'change -segment DEFAULT -file=%s/g.dat\nchange -region DEFAULT -key=512 -record=1048576 -stdnull\nexit\n' "$dir" |
    "$gtm_dist/mumps" -run GDE >/dev/null 2>&1
"$gtm_dist/mupip" create >/dev/null 2>&1
bad=0
seed=$1
while [ "$seed" -le "$2" ]; do
    luajit "$here/fuzz_trees.lua" "$seed" "${3:-2000}" trees.m
    rm -f trees.o
    "$gtm_dist/mumps" -run trees 2>&1 | sed 's/GTM-E-UNDEF/YDB-E-LVUNDEF/g; s/%GTM-/%YDB-/g' >theirs
    "$program" -run trees >ours 2>&1
    cmp -s ours theirs || { bad=$((bad + 1)) && echo "seed $seed:" && diff ours theirs | head -n "${SHOW:-12}"; }
    seed=$((seed + 1))
done
echo "$(($2 - $1 + 1 - bad)) passed, $bad failed"
[ $bad -eq 0 ]
