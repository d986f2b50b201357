#!/bin/sh
# Devices of M: programs of test/m/io print what fis-gtm printed (the .out beside each, without spaces at line ends);
# a server in M answers.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
[ -x "$build/caret-m" ] || { echo "skipped: caret-m is not built" && exit 77; }

# program NAME: runs it in a folder of its own
program()
{
    mkdir "$dir/$1" && cp "$source/test/m/io/$1.m" "$dir/$1" && cd "$dir/$1" || exit 1
    CARET_DB="$dir/$1/db" ydb_routines=. SHELL=/bin/sh timeout "$patience" "$build/caret-m" -run "$1" \
        </dev/null 2>&1 | timeout "$patience" cat >out # a process that is left over may keep the pipe
    sed 's/h[0-9]\{10,\}/HANDLE/g; s/ *$//' out | awk 1 | diff "$source/test/m/io/$1.out" -
    note $? "$1 prints what it should"
    cd "$dir" || exit 1
}

for name in "$source"/test/m/io/*.m; do
    program "$(basename "$name" .m)"
done

# A job that is killed before it begins: it waits for a writer of a FIFO.
mkdir "$dir/killed" && cd "$dir/killed" || exit 1
cat >killed.m <<'end'
killed s $et="w $p($zs,"","",4,9),! h"
 zsy "sh ./kill.sh "_$j_" &"
 j tt^killed:(in="fifo":def=".")
tt w "began",! q
end
cat >kill.sh <<'end'
until job=$(cat /proc/"$1"/task/"$1"/children) && grep -q -e -job "/proc/${job% }/cmdline"; do sleep 0.02; done
kill -9 $job
end
mkfifo fifo
CARET_DB="$dir/killed/db" ydb_routines=. timeout "$patience" "$build/caret-m" -run killed </dev/null >got 2>err
grep -q 'Job error - the process ended before it began' got
note $? "a job that is killed before it begins is an error"
cd "$dir" || exit 1

# A parent may have SIGCHLD ignored, as some supervisors do: what commands end with is told all the same.
mkdir "$dir/ignored" && cd "$dir/ignored" || exit 1
cat >ignored.m <<'end'
ignored zsy "exit 3" w $zsy
 o "p":(command="exit 4")::"pipe" c "p" w " ",$zclose,!
end
(
    trap '' CHLD
    CARET_DB="$dir/ignored/db" ydb_routines=. timeout "$patience" "$build/caret-m" -run ignored </dev/null >got 2>&1
)
[ "$(cat got)" = "3 4" ]
note $? "ZSYSTEM and CLOSE tell what a command ended with, also where SIGCHLD was ignored"
cd "$dir" || exit 1

# A program that computes, and does so until its reader has seen all that it wrote before.
mkdir "$dir/seen" && cd "$dir/seen" || exit 1
cat >seen.m <<'end'
seen w "one",! w "two",!,"th",*114 w "ee"
 f  q:$zsearch("go",-1)'=""
 w " four",!
 q
end
mkfifo lines
CARET_DB="$dir/seen/db" ydb_routines=. timeout "$patience" "$build/caret-m" -run seen </dev/null >lines 2>&1 &
writer=$!
{ head -c 13 && : >go && cat; } <lines >got
wait $writer
printf 'one\ntwo\nthree four\n' | cmp -s - got
note $? "what was written is seen while the program computes"
cd "$dir" || exit 1
finish
