#!/bin/sh
# The main job: right answers for several N and W, bad options, workers that are killed.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret

job() { keep "$caret" 3n1 "$@"; }

job -n 100000 -w 1 --json && grep -q '"longest":350,"highest":1570824736,"reads":447008,"updates":217263,"n":100000,"workers":1}' "$dir/out"
note $? "N = 100,000 with one worker says what it must"
job -n 100000 -w 4 --json && grep -q '"longest":350,"highest":1570824736,' "$dir/out"
note $? "four workers find the same"
job -n 1000 -w 3 --json && grep -q '"longest":178,"highest":250504,' "$dir/out"
note $? "N = 1,000"
job -n 1 -w 2 --json && grep -q '"longest":0,"highest":0,' "$dir/out"
note $? "N = 1 with more workers than numbers"

for bad in "-n 0" "-n x" "-n 1.5" "-w 0" "-w 1000" "--nonsense" "-n" "--db"; do
    # shellcheck disable=SC2086
    job $bad
    [ $? -eq 2 ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && [ ! -s "$dir/out" ]
    note $? "bad option $bad: one line, status 2"
done

keep "$caret" nonsense
[ $? -eq 2 ] && [ "$(wc -l <"$dir/err")" -eq 1 ]
note $? "an unknown command: one line, status 2"
job --db / -n 10
[ $? -eq 3 ] && [ "$(wc -l <"$dir/err")" -eq 1 ]
note $? "a path that is a directory: one line, status 3"

job -n 100 --db "$dir/kept.caret" --keep && [ -f "$dir/kept.caret" ]
note $? "--keep keeps the database"
expect 3 "a database that is there already is not taken" 3n1 -n 100 --db "$dir/kept.caret"
[ -f "$dir/kept.caret" ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && grep -q 'keep' "$dir/err"
note $? "but kept, and the message tells what to do"
echo 'not a database' >"$dir/letter"
expect 3 "nor is another file" 3n1 -n 100 --db "$dir/letter"
[ -f "$dir/letter" ]
note $? "which is kept too"
job -n 100 --db "$dir/gone.caret" && [ ! -f "$dir/gone.caret" ]
note $? "without it the database is removed"

# Builds that are slow by intent say so: the one with tiny pages, if it is there.
slow=$source/build-small/caret
if [ -x "$slow" ]; then
    for arguments in "3n1 -n 100" "3n1 -n 100 --runs 1" "bench ops -n 1000 --count 100"; do
        # shellcheck disable=SC2086 # words
        keep "$slow" $arguments && grep -q 'has tiny pages: its figures say nothing' "$dir/err" && [ "$(wc -l <"$dir/err")" -eq 1 ]
        note $? "a slow build warns: $arguments"
        # shellcheck disable=SC2086
        keep "$slow" $arguments --json && grep -q '"slow_build":"tiny pages"' "$dir/out"
        note $? "also in JSON: $arguments"
    done
else
    skip "a slow build warns: there is none in build-small/"
fi

# The first child of a process, from /proc: procps may be missing.
children()
{
    [ -n "$1" ] && cut -d ' ' -f 1 "/proc/$1/task/$1/children" 2>/dev/null
}

# Kill one worker in the middle: the answer is right, and the death is told.
timeout "$patience" "$caret" 3n1 -n 1000000 -w 3 --json >"$dir/out" 2>"$dir/err" &
job=$!
victim=
while [ -z "$victim" ] && kill -0 $job; do
    sleep 0.02
    parent=$(children $job)
    victim=$(children "$parent")
done
sleep 0.3
[ -n "$victim" ] && kill -9 "$victim"
wait $job && grep -q '"longest":524,"highest":56991483520,' "$dir/out" && grep -q "worker $victim was killed by signal 9" "$dir/err"
note $? "a worker killed in the middle: right answer, death reported"

# Ctrl-C in the middle: nothing runs, nothing remains.
"$caret" 3n1 -n 3000000 -w 2 >"$dir/out" 2>"$dir/err" &
job=$!
victim=
while [ -z "$victim" ] && kill -0 $job; do
    sleep 0.02
    victim=$(children $job)
done
sleep 0.2
kill -TERM $job
wait $job
[ $? -eq 143 ] && [ ! -s "$dir/out" ] && [ -z "$(ls -A "$TMPDIR")" ] && ! grep -q ') [^ZX] ' "/proc/$victim/stat" 2>/dev/null
note $? "interrupted: nothing runs, nothing remains"

finish
