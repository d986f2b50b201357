#!/bin/sh
# Ctrl-C and SIGTERM in the middle of every command: it ends by that signal, nothing runs on, nothing is left behind
# (temporary folders, half-written files, shared memory), and no database is damaged.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret timeout

export CARET_DB="$dir/x.caret"
awk 'BEGIN { for (i = 1; i <= 300000; i++) printf "^big(%d,\"name\")=\"value %d\"\n", i, i }' >"$dir/big.zwr"
keep "$caret" load --quiet "$dir/big.zwr" && keep "$caret" backup --quiet "$dir/b.caret"
note $? "a database to begin with"
echo 'local n = 0 while true do n = n + 1 db.node("^x", n % 100).__ = n end' >"$dir/loop.lua"
printf '#!/bin/sh\nexec sleep 100\n' >"$dir/sleeper" && chmod +x "$dir/sleeper"
mkfifo "$dir/pipe"

# running: processes of this test that run, found by what they were given
running() { grep -ls "TMPDIR=$TMPDIR" /proc/[0-9]*/environ; }

# stop after signal arguments...: one case, the signal comes after so many seconds, or it was done by then
stop()
{
    after=$1
    name=$2
    number=$3
    shift 3
    what="SIG$name after $after s: caret $*"
    rm -f "$dir/new.caret" "$dir/new.zwr"
    timeout --preserve-status -k "$patience" -s "$name" "$after" "$caret" "$@" <>"$dir/pipe" >"$dir/out" 2>"$dir/err"
    status=$?
    wrong=
    [ $status -eq $((128 + number)) ] || [ $status -le 1 ] || wrong="$wrong status $status;"
    [ -z "$(ls -A "$TMPDIR")" ] || wrong="$wrong $(ls "$TMPDIR");"
    [ -z "$(left)" ] || wrong="$wrong $(left);"
    [ -z "$(running)" ] || wrong="$wrong $(running);"
    more=$(find "$dir" -name '*-partial*' -o -name '*-log' -o -name '*-lock')
    [ -z "$more" ] || wrong="$wrong $more;"
    [ -z "$wrong" ]
    note $? "$what:$wrong"
    ! grep -q 'traceback' "$dir/err"
    note $? "$what: no traceback"
}

# each arguments...: at several moments
each()
{
    stop 0.02 INT 2 "$@"
    stop 0.15 TERM 15 "$@"
}

each load "$dir/big.zwr"
each load --atomic "$dir/big.zwr"
each dump -f csv -o "$dir/new.zwr"
each backup --overwrite "$dir/b.caret"
each backup --compact "$dir/new.caret"
each compact "$dir/b.caret"
each restore "$dir/b.caret" "$dir/new.caret"
each salvage "$dir/b.caret" "$dir/new.zwr"
each check
each stat
each tree --all '^big'
each set '^x' -
each log
each top
each watch '^big'
each run "$dir/loop.lua"
each 3n1 -n 1000000 -w 3
each 3n1 -n 20000 --draw "$dir/new.zwr.svg"
each 3n1 --rivals caret,caret-c,caret-yottadb,tables --program "$dir/sleeper" -n 100000 -w 1,2
each bench ops
each bench mix -w 3
stop 0.4 INT 2 3n1 -n 20000 --draw "$dir/new.zwr.svg"
stop 0.4 INT 2 bench ops
stop 0.4 INT 2 bench mix -w 3
stop 0.4 INT 2 load "$dir/big.zwr"
stop 0.4 INT 2 compact "$dir/b.caret"

# Stopped for sure: these do not end by themselves.
for command in "watch ^big" top "set ^x -" "run $dir/loop.lua" "3n1 -n 3000000 -w 2" "bench mix -n 100000 --count 10000000"; do
    # shellcheck disable=SC2086 # several words
    stop 0.3 HUP 1 $command
    [ $status -eq 129 ]
    note $? "$command ended by the signal (status $status)"
done

# watch tells the command that runs.
"$caret" watch '^watched' -- "$dir/sleeper" >"$dir/out" 2>"$dir/err" &
watch=$!
# It may not watch yet when the first change comes.
changes=0
told()
{
    changes=$((changes + 1))
    "$caret" set '^watched' "$changes"
    # shellcheck disable=SC2046 # several files
    grep -qsx sleep /dev/null $(running | sed 's|environ|comm|')
}
soon told
kill -TERM $watch
wait $watch
[ $? -eq 143 ] && [ -z "$(running)" ]
note $? "watch ends with its command"

# A signal just before serve becomes the server, where no handler may have noted it in vain.
cat >"$dir/late.c" <<'PROGRAM'
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;
int execv(const char *path, char *const argv[])
{
    raise(SIGTERM);
    return (int)syscall(SYS_execve, path, argv, environ);
}
PROGRAM
if cc -shared -fPIC -o "$dir/late.so" "$dir/late.c" 2>"$dir/err" && ! ldd "$caret" | grep -q 'libasan\|libtsan'; then
    keep env LD_PRELOAD="$dir/late.so" "$caret" serve --port 0 --unix "$dir/socket"
    [ $? -eq 143 ]
    note $? "a signal just before serve becomes the server ends it"
else
    skip "the signal just before serve becomes the server: no compiler, or a sanitizer's build"
fi

for db in "$CARET_DB" "$dir/b.caret"; do
    keep "$caret" check "$db" && [ "$("$caret" tree --db "$db" --all '^big' | wc -l)" -eq 300000 ]
    note $? "$(basename "$db") is whole"
done
finish
