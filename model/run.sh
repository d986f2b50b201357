#!/bin/sh
# Checks the models: the correct ones must have no error, and every seeded bug must be found.
#
#   model/run.sh [word]     only the runs whose description contains the word
#
# Those that are marked long are left out unless CARET_MODEL=all says otherwise (make torture).
#
# One line a run; the last line is "N passed, N failed".  Needs spin and a C compiler,
# about 600 MB of memory for each of up to three runs at a time, and no network.

set -u

# one description: in a directory of its own, which is removed
one()
{
    # shellcheck disable=SC2086 # a list of words
    set -- $1
    kind=$1 model=$2
    shift 2
    name="$model $*"
    case "$kind $model" in
    "correct arena" | long*) compile="${CC:-cc} -Og" ;;
    "correct log") compile="${CC:-cc} -O1" ;;
    bug*) compile=$quick ;; # its search ends sooner than a compiler that optimises does
    *) compile="${CC:-cc} -O0" ;;
    esac
    mkdir -p "$work/$$" && cd "$work/$$" || exit 1
    if ! spin -a "$@" "$here/$model.pml" >log 2>&1 ||
        ! $compile -w -DSAFETY -DCOLLAPSE -o pan pan.c >>log 2>&1 ||
        ! ./pan -m1000000 >>log 2>&1; then
        echo "failed  $name: did not run: $(tail -n 1 log)"
    elif grep -q 'max search depth too small\|out of memory' log && ! grep -q 'errors: 1' log; then
        echo "failed  $name: the search is not complete"
    else
        errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' log)
        states=$(sed -n 's/ *\([0-9]*\) states, stored.*/\1/p' log)
        how=$(sed -n 's/^pan:1: \(.*\) (at depth.*/\1/p' log | cut -c 1-90)
        case $kind:$errors in
        correct:0 | long:0) echo "ok      $name: no error in $states states" ;;
        bug:1) echo "ok      $name: found: $how" ;;
        correct:* | long:*) echo "failed  $name: $how" ;;
        *) echo "failed  $name: NOT FOUND in $states states" ;;
        esac
    fi
    cd / && rm -rf "${work:?}/$$"
}

if [ "${1-}" = --one ]; then
    one "$2"
    exit
fi

here=$(cd "$(dirname "$0")" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
quick="${CC:-cc} -O0" # or a compiler that takes a fortieth of the time
command -v tcc >/dev/null && [ -z "${CC-}" ] && echo 'int main(void) { return 0; }' >"$work/probe.c" &&
    tcc -o "$work/probe" "$work/probe.c" 2>/dev/null && "$work/probe" && quick=tcc
export here work quick
for tool in spin "${CC:-cc}"; do
    command -v "$tool" >/dev/null || {
        echo "$tool is not installed"
        exit 1
    }
done
jobs=$(nproc 2>/dev/null || echo 2)
[ "$jobs" -gt 3 ] && jobs=3

# The long ones first.
left_out='^long '
[ "${CARET_MODEL-}" = all ] && left_out='^$'
grep -v -e "$left_out" <<'END' | grep -e "${1-}" >"$work/runs"
long arena -DREADER -DNC=2 -DCK=1 -DNS=2
long arena -DREADER -DNS=2 -DMAXD=0
long arena -DNC=2 -DNS=2 -DMAXD=2
long arena -DATONCE
long commit -DREADER -DSTOPPED -DREUSE
long commit -DROTX -DSTOPPED -DREUSE
long commit -DRWTX -DSTOPPED -DREUSE
long log -DCRASH=2 -DCK=1
long log -DLONG=4 -DCK=1
long log -DLONG=3 -DNC=4 -DCK=1 -DMAXD=0
long snapshot
long snapshot -DLOST -DNC=2
long snapshot -DPS=2 -DSN=1 -DMAXD=0
long parallel -DRWTX
long parallel -DREADER
long await -DMAXD=2
long handoff -DRUNS=5
long line -DNET
correct arena
correct commit -DREADER
correct commit -DROTX
correct commit -DRWTX
correct commit -DRANGE
correct log
correct log -DR=1
correct log -DLONG=4 -DMAXD=0
correct snapshot -DPS=2 -DSN=1 -DNC=2 -DCK=0
correct archive
correct parallel -DREADER -DAROUND -DMAXD=0
correct parallel -DSTRUCTURE
correct parallel -DMAXD=2
correct locks -DMAXD=2
correct locks -DMAXD=0
correct await -DMAXD=0
correct await
correct handoff
correct handoff -DMACHINE
correct line
correct line -DNET -DKILLS=2 -DBEGINS=1
bug arena -DBUG=1 -DREADER -DNC=2 -DCK=1 -DNS=2
bug arena -DBUG=2 -DREADER -DNS=2 -DMAXD=0
bug arena -DBUG=3 -DREADER -DNS=2 -DMAXD=0
bug arena -DBUG=4 -DREADER -DNS=2 -DMAXD=0
bug arena -DBUG=5
bug arena -DBUG=6
bug arena -DBUG=7
bug arena -DBUG=8
bug arena -DBUG=9
bug arena -DBUG=10
bug arena -DBUG=11
bug arena -DBUG=12
bug arena -DBUG=13
bug arena -DBUG=14
bug arena -DBUG=15
bug arena -DBUG=16
bug arena -DBUG=17
bug arena -DBUG=18
bug arena -DBUG=19
bug arena -DBUG=20
bug arena -DBUG=21
bug arena -DBUG=22
bug arena -DBUG=23
bug arena -DBUG=24 -DATONCE
bug arena -DBUG=25
bug arena -DBUG=26
bug arena -DBUG=27
bug arena -DBUG=28
bug arena -DBUG=29
bug arena -DBUG=30 -DNC=2 -DNS=2 -DMAXD=2
bug arena -DBUG=31
bug arena -DBUG=32
bug arena -DBUG=33
bug arena -DBUG=34
bug arena -DBUG=35
bug arena -DBUG=36
bug archive -DBUG=1
bug archive -DBUG=2
bug archive -DBUG=3
bug archive -DBUG=4
bug archive -DBUG=5
bug archive -DBUG=6
bug archive -DBUG=7
bug archive -DBUG=8
bug archive -DBUG=9
bug log -DBUG=1
bug log -DBUG=2
bug log -DBUG=3
bug log -DBUG=4
bug log -DBUG=5
bug log -DBUG=6 -DCRASH=2 -DMAXD=0
bug log -DBUG=7
bug log -DBUG=8 -DR=1
bug log -DBUG=9
bug log -DBUG=10
bug log -DBUG=11
bug log -DBUG=12 -DCRASH=2 -DMAXD=0
bug log -DBUG=13
bug log -DBUG=14
bug log -DBUG=15 -DLONG=3 -DNC=4 -DCK=1 -DMAXD=0
bug log -DBUG=16 -DLONG=3 -DMAXD=0
bug log -DBUG=17 -DLONG=3 -DMAXD=0
bug snapshot -DBUG=1
bug snapshot -DBUG=2
bug snapshot -DBUG=3
bug snapshot -DBUG=4
bug snapshot -DBUG=5
bug snapshot -DBUG=6
bug snapshot -DBUG=7
bug snapshot -DBUG=8
bug snapshot -DBUG=9
bug snapshot -DBUG=10
bug snapshot -DBUG=11
bug snapshot -DBUG=12 -DLOST -DNC=2
bug snapshot -DBUG=13 -DLOST -DNC=2
bug snapshot -DBUG=14
bug snapshot -DBUG=15
bug snapshot -DBUG=16
bug snapshot -DBUG=17 -DLOST -DNC=2
bug snapshot -DBUG=18
bug snapshot -DBUG=19
bug parallel -DBUG=1 -DRWTX -DMAXD=0
bug parallel -DBUG=2 -DREADER
bug parallel -DBUG=3
bug parallel -DBUG=4
bug parallel -DBUG=5
bug parallel -DBUG=6
bug parallel -DBUG=7
bug parallel -DBUG=8 -DREADER -DAROUND -DMAXD=0
bug parallel -DBUG=9 -DRWTX -DMAXD=0
bug parallel -DBUG=10
bug parallel -DBUG=11 -DREADER -DAROUND -DMAXD=0
bug parallel -DBUG=12 -DREADER -DMAXD=0
bug parallel -DBUG=13 -DSTRUCTURE
bug parallel -DBUG=14 -DREADER
bug locks -DBUG=1
bug locks -DBUG=2
bug locks -DBUG=3 -DMAXD=0
bug locks -DBUG=4 -DMAXD=0
bug locks -DBUG=5
bug locks -DBUG=6
bug locks -DBUG=7
bug await -DBUG=1 -DMAXD=0
bug await -DBUG=2 -DMAXD=0
bug await -DBUG=3 -DMAXD=0
bug await -DBUG=4 -DMAXD=0
bug await -DBUG=5 -DMAXD=0
bug await -DBUG=6 -DMAXD=0
bug await -DBUG=7
bug handoff -DBUG=1
bug handoff -DBUG=2
bug handoff -DBUG=3
bug handoff -DBUG=4
bug handoff -DBUG=5
bug handoff -DBUG=6
bug handoff -DBUG=7
bug handoff -DBUG=8
bug handoff -DBUG=9
bug handoff -DBUG=10 -DMACHINE
bug handoff -DBUG=11 -DMACHINE
bug handoff -DBUG=12 -DMACHINE
bug handoff -DBUG=13 -DMACHINE
bug line -DBUG=1
bug line -DBUG=2
bug line -DBUG=3
bug line -DBUG=4
bug line -DBUG=5
bug line -DBUG=6 -DNET
bug line -DBUG=7
bug line -DBUG=8
bug line -DBUG=9
bug line -DBUG=10
bug line -DBUG=11 -DNET
bug commit -DBUG1 -DREADER
bug commit -DBUG2 -DREADER
bug commit -DBUG3 -DREADER -DMAXD=0
bug commit -DBUG4 -DREADER
bug commit -DBUG5 -DREADER
bug commit -DBUG6 -DROTX
bug commit -DBUG7 -DREADER
bug commit -DBUG8 -DRWTX
bug commit -DHOLE1 -DREADER
bug commit -DHOLE2 -DREADER
bug commit -DHOLE3 -DROTX
bug commit -DHOLE4 -DROTX
bug commit -DHOLE5 -DREADER -DREUSE
bug commit -DHOLE6 -DREADER -DSTOPPED
bug commit -DHOLE7 -DRWTX -DSTOPPED
bug commit -DHOLE8 -DRANGE
bug commit -DHOLE9 -DREADER -DSTOPPED
bug commit -DHOLE10 -DREADER
bug commit -DHOLE11 -DREADER -DSTOPPED
END

xargs -r -P "$jobs" -d '\n' -n 1 sh "$here/run.sh" --one <"$work/runs" | tee "$work/results"

passed=$(grep -c '^ok ' "$work/results")
failed=$(($(wc -l <"$work/runs") - passed))
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
