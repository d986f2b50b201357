# shellcheck shell=sh disable=SC2034 # what the others use
# Sourced first by every test/run/*.sh (it is not a test itself):
#
#   # shellcheck source=common.sh
#   . "$(dirname "$0")/common.sh"
#   need caret                    # or what else must be there: else skipped, with the reason
#   expect 2 "a bad option" check --nonsense
#   grep -q 'usage' "$dir/err"
#   note $? "says what is right"
#   finish                        # last: prints the counts, and is the exit status
#
# Where it is permitted a test has a /dev/shm of its own, and fails if it leaves shared memory there.
#
# $source and $build are the folders of the repository and of the build, $caret is the tool, and $dir a folder for
# this test alone, removed at its end with all in it; TMPDIR is in it, so what a tool leaves there goes too.

if [ -z "${CARET_OWN_MEMORY:-}" ] && unshare -m mount -t tmpfs tmpfs /dev/shm 2>/dev/null; then
    CARET_OWN_MEMORY=1 exec unshare -m sh -c 'mount -t tmpfs tmpfs /dev/shm && exec sh "$0" "$@"' "$0" "$@"
fi
source=${CARET_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${CARET_BUILD:-$source/build}
caret=$build/caret
passed=0
failed=0
skipped=0
unset CARET_DB
dir=$(mktemp -d "${TMPDIR:-/tmp}/caret-run-XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM # by timeout(1), for one: the folder goes all the same
mkdir "$dir/tmp" || exit 1
export TMPDIR="$dir/tmp"

# need program...: the whole test is skipped without it; "caret" is the tool of this build
need()
{
    for program in "$@"; do
        if [ "$program" = caret ] && [ ! -x "$caret" ]; then
            echo "skipped: the tool is not built"
            exit 77
        elif [ "$program" != caret ] && ! command -v "$program" >/dev/null; then
            echo "skipped: $program is not installed"
            exit 77
        fi
    done
}

# note status what: one case, failed unless the status is 0; then what was printed last is shown
note()
{
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $2"
        tail -n 20 "$dir/out" "$dir/err" 2>/dev/null
    fi
}

# Seconds after which a command is taken for hanging: a minute of a machine that is its own (test/support/crowd.h).
patience=$(awk -v processors="$(nproc)" '{ split($4, now, "/"); c = (now[1] > $1 ? now[1] : $1) / processors
    print int(60 * (c > 1 ? c : 1)) }' /proc/loadavg)

# keep command...: run it with nothing to read, its output in $dir/out and $dir/err
keep() { timeout "$patience" "$@" </dev/null >"$dir/out" 2>"$dir/err"; }

# soon command...: wait until it succeeds, no longer than for a command that hangs
soon()
{
    deadline=$(($(date +%s) + patience))
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$deadline" ] || return 1
        sleep 0.05
    done
}

# expect status what arguments...: one case, the tool ends with that status
expect()
{
    want=$1
    what=$2
    shift 2
    keep "$caret" "$@"
    status=$?
    note $((status - want)) "$what (status $status, not $want)"
}

# skip reason: one case
skip()
{
    skipped=$((skipped + 1))
    echo "skipped: $1"
}

# left: the shared memory that is there, if it is ours alone
left() { [ -z "${CARET_OWN_MEMORY:-}" ] || find /dev/shm -name 'caret-*'; }

finish()
{
    if [ -n "$(left)" ]; then
        failed=$((failed + 1))
        echo "FAILED: nothing is left in shared memory"
        left
    fi
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}
