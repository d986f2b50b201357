#!/bin/sh
# Check the Spin models: every correct configuration must hold, every seeded bug must be found.
# Works in a temporary directory; ends with the line "N passed, N failed".
set -u
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT INT TERM
passed=0 failed=0

# run MODEL WANT(ok|bug) OPTIONS...
run() {
    model=$1 want=$2
    shift 2
    if ! (cd "$dir" && spin -a "$@" "$here/$model.pml" >spin.log 2>&1 &&
          gcc -O2 -w -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -o pan pan.c >>spin.log 2>&1 && ./pan -m1000000 >pan.log 2>&1); then
        got=broken
    elif grep -q 'errors: 0' "$dir/pan.log" && ! grep -q 'max search depth too small' "$dir/pan.log"; then
        got=ok
    elif grep -q 'errors: [1-9]' "$dir/pan.log"; then
        got=bug
    else
        got=broken
    fi
    states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' "$dir/pan.log")
    if [ "$got" = "$want" ]; then
        passed=$((passed + 1))
        echo "ok   $model $* ($want, ${states:-0} states)"
    else
        failed=$((failed + 1))
        echo "FAIL $model $*: wanted $want, got $got"
        tail -5 "$dir/spin.log" "$dir/pan.log"
    fi
}

for reader in READER ROTX RWTX; do
    run commit ok -D$reader
    run commit ok -D$reader -DSTOPPED -DREUSE
done
run commit ok -DRANGE
for bug in BUG1 BUG4 BUG5 BUG7; do run commit bug -DREADER -D$bug; done
for bug in BUG2 BUG3; do run commit bug -DROTX -D$bug; done
run commit bug -DROTX -DBUG6
run commit bug -DRWTX -DBUG8
for hole in HOLE1 HOLE2; do run commit bug -DREADER -D$hole; done
for hole in HOLE3 HOLE4; do run commit bug -DROTX -D$hole; done
run commit bug -DREADER -DREUSE -DHOLE5
for hole in HOLE6 HOLE9; do run commit bug -DREADER -DSTOPPED -D$hole; done
run commit bug -DROTX -DSTOPPED -DHOLE7
run commit bug -DRANGE -DHOLE8
[ -f "$here/arena.list" ] && while read -r want options; do
    # shellcheck disable=SC2086
    [ -n "$want" ] && run arena "$want" $options
done <"$here/arena.list"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
