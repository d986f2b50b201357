#!/bin/sh
# Builds every configuration and runs every test. See CONTRIBUTING.md.
#
#   tools/test.sh [step...]    steps: release small asan tsan fuzz model style
#
# First the programs of all steps are built. Then the parts that the steps have are run in two lanes beside each other,
# so that a part that waits, or uses one processor, leaves none idle; each prints what it has to say when it has ended.
#
# Every test case counts, not every program. The last line is "N passed, N failed",
# the one before tells how many were skipped; the exit status is 1 if any failed or none ran.
# All output is kept in build/test-log/; "times" there has what each test cost, the dearest first.

set -u
cd "$(dirname "$0")/.." || exit 1
root=$(pwd)
logs=$root/build/test-log
mkdir -p "$logs" || exit 1
jobs=$(nproc 2>/dev/null || echo 2)
[ "$jobs" -gt 8 ] && jobs=8

lanes=2
tests_at_once=$((jobs / 2 + 1)) # in each lane
# A test may need a good part of 64 MiB of shared memory: where there is no more than for a few, they take turns.
if [ "$(df -Pk /dev/shm | awk 'NR == 2 { print $2 }')" -lt 524288 ]; then
    lanes=1
    tests_at_once=1
fi

passed=0
failed=0
skipped=0
failures=
whole=
[ "${CARET_TEST-}" = whole ] && whole=1
parts= # what is to be run when all is built

add()
{
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + $3))
}

pass() { add 1 0 0; }

# fail what [log]: one failed case, with the end of its log
fail()
{
    add 0 1 0
    failures="$failures  $1
"
    echo "  FAILED $1"
    [ $# -gt 1 ] && tail -n 80 "$2" | sed 's/^/    /'
}

skip()
{
    add 0 0 1
    echo "  skipped $1: $2"
}

# build preset [target...]: if that succeeds, the preset is a part
build()
{
    preset=$1
    shift
    log=$logs/$preset-build.log
    start=$(date +%s)
    if cmake --preset "$preset" >"$log" 2>&1 && cmake --build --preset "$preset" \
        --parallel "$jobs" ${1:+--target "$@"} >>"$log" 2>&1; then
        echo "  $preset: built in $(($(date +%s) - start)) s"
        sed -n 's/^-- \(.*is missing\)/  note: \1/p' "$log"
        parts="$parts $preset"
    else
        fail "build of $preset" "$log"
    fi
}

# watched seconds name command...: as every test is run (test/watch.c)
watched() { "$logs/watch" "$@"; }

# run_ctest preset folder [ctest option...]
run_ctest()
{
    preset=$1
    folder=$2
    shift 2
    log=$logs/$preset.log
    start=$(date +%s)
    $without_aslr ctest --test-dir "$folder" -V -j "$tests_at_once" "$@" >"$log" 2>&1 </dev/null
    status=$?
    sed -n "s|.*watch: \(.*\) took \(.*\) s, \(.*\) s of a processor$|\3 \2 $preset \1|p" "$log" >"$logs/$preset.times"
    cost=$(awk '{ sum += $1 } END { printf "%.0f", sum }' "$logs/$preset.times")
    awk -f tools/count.awk "$log" >"$logs/$preset.summary"
    sed '$d' "$logs/$preset.summary"
    # shellcheck disable=SC2046 # three numbers
    set -- $(tail -n 1 "$logs/$preset.summary")
    add "$2" "$3" "$4"
    echo "  $preset: $2 passed, $3 failed, $4 skipped in $(($(date +%s) - start)) s, $cost s of a processor"
    if [ "$3" -gt 0 ]; then
        failures="$failures$(sed -n "s/^  FAILED /  $preset: /p" "$logs/$preset.summary")
"
    elif [ $status != 0 ]; then
        fail "$preset: ctest" "$log"
    elif [ "$2" = 0 ]; then
        fail "$preset: no test ran" "$log"
    fi
}

# run_counted name command...: a program that counts its own cases in a last line
run_counted()
{
    name=$1
    shift
    log=$logs/$name.log
    start=$(date +%s)
    watched 600 "$name" "$@" >"$log" 2>&1 </dev/null
    status=$?
    counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed\(, \([0-9]*\) skipped\)\{0,1\}.*/\1 \2 \4/p' "$log" | tail -n 1)
    # shellcheck disable=SC2086 # three numbers
    set -- ${counts:-0 0} 0
    add "$1" "$2" "$3"
    grep -i 'skipped [a-z]' "$log" | sed 's/^ */  /'
    echo "  $name: $1 passed, $2 failed, $3 skipped in $(($(date +%s) - start)) s"
    if [ "$2" -gt 0 ]; then
        failures="$failures  $name
"
        tail -n 80 "$log" | sed 's/^/    /'
    elif [ $status != 0 ] || [ "$1" = 0 ]; then
        fail "$name (status $status)" "$log"
    fi
}

# can_build compiler options program-text: does such a program build and run here?
can_build()
{
    probe=$logs/probe
    printf '%s\n' "$3" >"$probe.c"
    # shellcheck disable=SC2086 # several options
    "$1" $2 -o "$probe" "$probe.c" >"$probe.log" 2>&1 && $without_aslr timeout 60 "$probe" -runs=1 >>"$probe.log" 2>&1
}

simple='int main(void) { return 0; }'
fuzzer='int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n);
int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return n > 1 && d[0] == d[1] && 0; }'

# Some kernels place mappings where TSan expects none.
without_aslr=
find_aslr()
{
    without_aslr=
    if setarch -R true 2>/dev/null; then
        without_aslr="setarch -R"
    fi
}

# ------------------------------------------------------------------ building

# named file: what a file of test/ names, one test a line, without comments; it is an error if that is nothing.
named() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "test/$1" 2>/dev/null | grep .; }
targets_of() { named "$1" | sed -e 's|/|_|' -e 's/^/test_/'; }
pattern_of() { echo "^($(named "$1" | tr '\n' '|' | sed 's/|$//'))\$"; }

build_release() { build release; }
build_style() { parts="$parts style"; }

build_small()
{
    if [ -n "$whole" ] || ! can_build cc -fsanitize=address,undefined "$simple"; then
        small_tests=.
        build small unit_tests
    else
        small_tests=$(pattern_of small.txt)
        # shellcheck disable=SC2046 # a list of words
        build small watch caret_shared $(targets_of small.txt)
    fi
    export small_tests
}

build_asan()
{
    if ! can_build cc -fsanitize=address,undefined "$simple" && grep -q LeakSanitizer "$logs/probe.log"; then
        echo "  note: this system does not let LeakSanitizer work: leaks are not looked for"
        export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
    fi
    if ! can_build cc -fsanitize=address,undefined "$simple"; then
        skip "asan" "no sanitized program runs here: $(tail -n 1 "$logs/probe.log")"
        return
    fi
    export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS-}"
    build asan unit_tests
    build asan-small unit_tests
}

# Only the tests named in test/tsan.txt: those with threads; pages of the usual size with CARET_TEST=whole.
build_tsan()
{
    find_aslr
    if ! command -v clang >/dev/null; then
        skip "tsan" "clang is not installed (gcc's ThreadSanitizer does not know fences)"
    elif ! can_build clang -fsanitize=thread "$simple"; then
        skip "tsan" "no sanitized program runs here: $(tail -n 1 "$logs/probe.log")"
    else
        if ! named tsan.txt >/dev/null; then
            skip "tsan" "test/tsan.txt names no test"
        else
            targets=$(targets_of tsan.txt)
            [ -f test/tsan.supp ] && TSAN_OPTIONS="suppressions=$root/test/tsan.supp:${TSAN_OPTIONS-}"
            export TSAN_OPTIONS="second_deadlock_stack=1:${TSAN_OPTIONS-}"
            # shellcheck disable=SC2086 # a list of words
            [ -z "$whole" ] || build tsan watch $targets
            # shellcheck disable=SC2086 # a list of words
            build tsan-small watch $targets
        fi
    fi
    without_aslr=
}

# clang: all of src/ and front/ compiles without a warning; each fuzzer is a part.
build_fuzz()
{
    if ! can_build clang -fsanitize=fuzzer,address "$fuzzer"; then
        skip "fuzz" "clang with libFuzzer is not there: $(tail -n 1 "$logs/probe.log")"
        return
    fi
    before=$parts
    build fuzz fuzzers
    [ "$parts" = "$before" ] && return
    parts=$before
    if sh tools/syntax.sh build-fuzz "$jobs" >"$logs/syntax.log" 2>&1; then
        pass
    else
        fail "warnings of clang" "$logs/syntax.log"
    fi
    for program in build-fuzz/fuzz/fuzz_*; do
        [ -x "$program" ] && parts="$parts $(basename "$program")"
    done
}

build_model()
{
    if [ ! -f model/run.sh ]; then
        skip "model" "there is none"
    elif ! command -v spin >/dev/null; then
        skip "model" "spin is not installed"
    else
        parts="$parts model"
    fi
}

# ------------------------------------------------------------------- running

# One test in four builds shows little that two of them do not.  release has all, as users get it; asan-small has nearly
# all but the fronts in other languages, with tiny pages, assertions, fault points and sanitizers.  small has what a
# sanitizer takes something away from, and asan, whose pages have the usual size, leaves out what pages do not matter
# for, and the sweeps over failures, kills and losses of power.  With CARET_TEST=whole (make torture) all have all, and
# small has it where no sanitizer works.
left_out_of_asan_small='^log/(syscalls|matrix)$'
left_out_of_asan='^((log|store)/.*|api/(torture|stopped|snapshot|short_txn|history|fuzz)|open/(recover|audits|replay)|copy/salvage|server/too_large_.*)$'
[ -n "$whole" ] && left_out_of_asan='^$' left_out_of_asan_small='^$'

fronts='^(lua|server)$'

# Those of release are a part of their own, before the short ones, so that the lanes end together.
with_fronts()
{
    long=
    short=
    for part in $parts; do
        case $part in
        fuzz_* | style) short="$short $part" ;;
        *) long="$long $part" ;;
        esac
    done
    case "$long " in *" release "*) long="$long fronts" ;; esac
    parts="$long$short"
}

# A folder for one more ctest of a build at a time: each writes into its own.
beside()
{
    mkdir -p "$logs/beside"
    echo "include(\"$root/$1/CTestTestfile.cmake\")" >"$logs/beside/CTestTestfile.cmake"
    echo "$logs/beside"
}

# From a fixed seed.
run_fuzzer()
{
    name=$1
    corpus=$logs/$name.corpus
    rm -rf "$corpus"
    mkdir -p "$corpus"
    seeds=
    [ -d "test/fuzz/corpus/$name" ] && seeds=test/fuzz/corpus/$name
    # shellcheck disable=SC2086 # a folder or nothing
    if watched 180 "$name" "build-fuzz/fuzz/$name" -seed=1 -runs=200000 -max_total_time=4 -timeout=100 -len_control=0 \
        -max_len=1200 -artifact_prefix="$logs/$name-" "$corpus" $seeds >"$logs/$name.log" 2>&1 </dev/null; then
        pass
        echo "  $name: $(sed -n 's/^\(Done .*\)/\1/p' "$logs/$name.log")"
    else
        fail "$name" "$logs/$name.log"
    fi
}

run_tsan()
{
    find_aslr
    run_ctest "$1" "build-$1" -R "$(pattern_of tsan.txt)"
}

run_part()
{
    case $1 in
    release) run_ctest release build -LE "$fronts" ;;
    fronts) run_ctest fronts "$(beside build)" -L "$fronts" ;;
    small) run_ctest small build-small -LE 'lua|python|run' -R "$small_tests" ;;
    asan) run_ctest asan build-asan -LE 'lua|python|run' -E "$left_out_of_asan" ;;
    asan-small) run_ctest asan-small build-asan-small -LE 'lua|python|run' -E "$left_out_of_asan_small" ;;
    tsan | tsan-small) run_tsan "$1" ;;
    fuzz_*) run_fuzzer "$1" ;;
    model) run_counted model sh model/run.sh ;;
    style) run_counted style sh tools/style.sh ;;
    esac
}

# What a part prints, and then its counts and failures: $logs/PART.part and $logs/PART.counts.
if [ "${1-}" = --part ]; then
    run_part "$2" >"$logs/$2.part" 2>&1
    printf '%s %s %s\n%s' "$passed" "$failed" "$skipped" "$failures" >"$logs/$2.counts"
    cat "$logs/$2.part"
    exit 0
fi

# xargs, as what a shell runs in the background ignores SIGINT, and some tests need it.
run_parts()
{
    rm -f "$logs"/*.counts "$logs"/*.times
    # shellcheck disable=SC2086 # a list of words
    printf '%s\n' $parts | xargs -r -n 1 -P "$lanes" sh tools/test.sh --part
    for part in $parts; do
        if [ ! -f "$logs/$part.counts" ]; then
            fail "$part: it was ended"
            continue
        fi
        # shellcheck disable=SC2046 # three numbers
        add $(head -n 1 "$logs/$part.counts")
        failures="$failures$(sed 1d "$logs/$part.counts" && echo .)"
        failures=${failures%.}
    done
    cat "$logs"/*.times 2>/dev/null | sort -rn >"$logs/times"
}

# A locale with a decimal comma, for the tests that must not mind it; the system's own
# are not touched.
make_locale()
{
    mkdir -p "$logs/locale"
    [ -d "$logs/locale/de_DE.UTF-8" ] ||
        localedef -i de_DE -f UTF-8 "$logs/locale/de_DE.UTF-8" >"$logs/locale.log" 2>&1
    [ -d "$logs/locale/de_DE.UTF-8" ] && export LOCPATH="$logs/locale"
}

# What tests left behind, and which ran when it appeared: no failure, as databases of others may be in use here.
export CARET_LEAVINGS="$logs/leavings"
: >"$CARET_LEAVINGS"
tell_leavings()
{
    sort -u "$CARET_LEAVINGS" | while read -r path name; do
        [ -e "$path" ] && echo "$path $name"
    done | awk '{ by[$1] = by[$1] " " $2 } END { for (path in by) print "  left behind: " path ", by one of" by[path] }' |
        sort
}

begin=$(date +%s)
cc -D_GNU_SOURCE -O -Itest -o "$logs/watch" test/watch.c || exit 1
make_locale
[ $# -eq 0 ] && set -- release small asan tsan fuzz model style
for step in "$@"; do
    case $step in
    release | style | small | asan | tsan | fuzz | model) ;;
    *)
        echo "no such step: $step" >&2
        exit 2
        ;;
    esac
done
echo "== build"
for step in "$@"; do
    "build_$step"
done
echo "== test"
with_fronts
run_parts

echo
tell_leavings
if [ -n "$failures" ]; then
    echo "Failed (logs in build/test-log/):"
    printf '%s' "$failures"
fi
echo "$(($(date +%s) - begin)) seconds, $skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
