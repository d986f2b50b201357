#!/bin/sh
# caret 3n1 beside other systems: every rival that is here answers rightly at a small N; one that does not start,
# dies, or answers wrongly gets no figure, and the others go on.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret
mkdir "$dir/bin"
chmod 711 "$dir" "$dir/tmp" # for PostgreSQL, which can't be root

run() { keep "$caret" 3n1 "$@"; }

# left_behind: does nothing remain of a run?
left_behind() { [ -z "$(ls -A "$dir/tmp")" ]; }

# gone pid: it does not run, soon.  One that nobody waits for may be dead and still listed.
dead() { ! grep -q ') [^ZX] ' "/proc/$1/stat"; }
gone() { soon dead "$1"; }

# Every rival that can run here, alone and with several processes where that makes sense.
"$caret" 3n1 --list | cut -c1-16,47- >"$dir/list"
while read -r name what; do
    case $name in resp* | program) continue ;; esac
    case $what in
    *here)
        run --rivals "$name" -n 300 -w 1,2 --runs 1 --json && grep -q '"longest":127,"highest":13120,' "$dir/out" &&
            ! grep -q '"status":"failed"' "$dir/out" && left_behind
        note $? "$name says what it must, and leaves nothing"
        ;;
    *)
        skip "$name: ${what#*can\'t run: }"
        ;;
    esac
done <"$dir/list"

# More processes than GT.M's default lock space has room for.
if grep -q '^gtm .*here' "$dir/list"; then
    run --rivals gtm,gtm-tuned -n 300 -w 70 --runs 1 --limit 40 --json && [ "$(grep -o '"status":"ok"' "$dir/out" | wc -l)" -eq 2 ]
    note $? "GT.M in seventy processes"
fi

# --------------------------------------------------------------- bad rivals

# stub text: a program that behaves so; what follows is its message
stub()
{
    printf '#!/bin/sh\n%s\n' "$2" >"$dir/bin/$1"
    chmod +x "$dir/bin/$1"
}

right='{"seconds":0.5,"longest":127,"highest":13120,"reads":10,"updates":5}'
wrong='{"seconds":0.5,"longest":126,"highest":13120,"reads":10,"updates":5}'

# Nothing to run: an empty page would say that all is well.
missing=$(sed -n "s/ .*can't run: .*//p" "$dir/list" | grep -v '^resp\|^program' | head -n 1)
if [ -n "$missing" ]; then
    timeout "$patience" "$caret" 3n1 --rivals "$missing" -n 300 --runs 1 --out "$dir/empty" >"$dir/out" 2>"$dir/err"
    [ $? -eq 1 ] && grep -q "none of them can run here; $missing: " "$dir/err" && ! [ -s "$dir/out" ]
    note $? "rivals that are not installed: status 1, and why"
fi
# A rival of M that can't prepare its database: its own last words.
mkdir "$dir/ydb"
printf '#!/bin/sh\necho first\necho "%%GDE-E-NOTHING, no database here"\necho\nexit 253\n' >"$dir/ydb/mumps"
chmod +x "$dir/ydb/mumps"
ydb_dist=$dir/ydb timeout "$patience" "$caret" 3n1 --rivals yottadb -n 300 --runs 1 >"$dir/out" 2>"$dir/err"
[ $? -eq 1 ] && grep -q 'GDE ended with exit 253: %GDE-E-NOTHING, no database here' "$dir/err"
note $? "a database that can't be prepared: the last line of what it said"

# Where the user is, and where he wants temporary files to be.
stub here "[ -f marker ] && echo '$right'"
(cd "$dir/bin" && touch marker && mkdir t && TMPDIR=t timeout "$patience" "$caret" 3n1 --rivals caret,tables --program ./here -n 300 --runs 1 \
    >"$dir/out" 2>"$dir/err" && [ -z "$(ls -A t)" ])
note $? "a program and a temporary folder by relative paths"
TMPDIR="$dir/none" timeout "$patience" "$caret" 3n1 -n 300 >"$dir/out" 2>"$dir/err"
[ $? -eq 3 ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && grep -q "$dir/none" "$dir/err"
note $? "a temporary folder that is not there: one line, status 3"

# other what message: with this program the run ends with 1, the program's row failed, and Caret's has a figure
other()
{
    timeout "$patience" "$caret" 3n1 --rivals caret --program "$dir/bin/stub" -n 300 --runs 1 >"$dir/out" 2>"$dir/err"
    [ $? -eq 1 ] && grep -q "failed: .*$2" "$dir/out" && [ "$(grep -c "$2" "$dir/err")" -eq 1 ] &&
        [ "$(wc -l <"$dir/err")" -eq 1 ] && grep -q 'Lua 5.4 .*█' "$dir/out" && left_behind
    note $? "$1: one line, no figure, the others go on, status 1"
}

stub stub "echo '$right'"
run --program "$dir/bin/stub" -n 300 --runs 2 && grep -q "bin/stub .* 500 ms .*█" "$dir/out"
note $? "a program that answers rightly gets a row"
stub stub "echo '$wrong'"
other "a wrong answer" "WRONG ANSWER: longest 126 and highest 13120 should be 127 and 13120"
stub stub "echo no >&2; exit 3"
other "an exit status" "ended with status 3: no"
stub stub 'kill -9 $$'
other "a death" "ended with status 137"
stub stub "echo nothing"
other "no result" "printed no result"
stub stub "echo x >>$dir/calls; [ \$(wc -l <$dir/calls) -lt 3 ] || exit 7; echo '$right'"
run --program "$dir/bin/stub" -n 300 --runs 3
[ $? -eq 1 ] && grep -q 'failed: .*status 7' "$dir/out" && ! grep -q '500 ms' "$dir/out" && [ "$(wc -l <"$dir/calls")" -eq 3 ]
note $? "one that fails in a later round has no figure, and isn't run again"
rm "$dir/bin/stub"
other "a program that does not exist" "ended with status 127"
stub stub "sleep 1000 & echo \$! >$dir/pid; wait"
timeout "$patience" "$caret" 3n1 --program "$dir/bin/stub" -n 300 --limit 1 >"$dir/out" 2>"$dir/err"
[ $? -eq 1 ] && grep -q "stopped after 1 s" "$dir/err" && gone "$(cat "$dir/pid")" && left_behind
note $? "a program that hangs is stopped, with its children"

# with_server what message: the same for Redis with the stub redis-server
with_server()
{
    PATH=$dir/bin:$PATH timeout "$patience" "$caret" 3n1 --rivals caret,redis -n 20000 --runs 1 >"$dir/out" 2>"$dir/err"
    [ $? -eq 1 ] && grep -q "failed: its server .*$2" "$dir/out" && [ "$(wc -l <"$dir/err")" -eq 1 ] &&
        grep -q 'Lua 5.4 .*█' "$dir/out" && left_behind
    note $? "$1: one line, no figure, the others go on, status 1"
}

if grep -q '^redis .*here' "$dir/list"; then
    server=$(command -v redis-server)
    stub redis-server 'echo "no room"; exit 1'
    with_server "a server that does not start" "status 1 at the start: no room"
    stub redis-server "[ \"\$#\" -gt 4 ] || exec '$server' \"\$@\"
        '$server' \"\$@\" &
        until [ \"\$(redis-cli -p \"\$4\" info stats | sed -n 's/^total_commands_processed:\\([0-9]*\\).*/\\1/p')\" -gt 1000 ]; do
            sleep 0.05
        done 2>/dev/null
        kill -9 \$!
        sleep 0.5 # a client that has lost it fails before this tells that it is gone
        exit 5"
    with_server "a server that dies midway" "ended with status 5"
    # A server of the user's: its keys stay, ours go.
    port=$("$caret" run - <<'LUA'
print(require("caret.programs").port())
LUA
    )
    "$server" --bind 127.0.0.1 --port "$port" --save "" --dir "$dir" >/dev/null 2>&1 &
    redis=$!
    printf '%s\n' "os.exit(require('caret.programs').answers($port, 'PING\\r\\n') and 0 or 1)" >"$dir/answers.lua"
    soon "$caret" run "$dir/answers.lua"
    lua=luajit
    command -v luajit >/dev/null || lua=lua5.1
    $lua -e "require 'redis'.connect('127.0.0.1', $port):set('mine', 1)"
    run --resp "127.0.0.1:$port" --rivals resp -n 1000 --runs 1 && grep -q "127.0.0.1:$port, Lua client .*█" "$dir/out" &&
        [ "$($lua -e "print(table.concat(require 'redis'.connect('127.0.0.1', $port):keys('*'), ' '))")" = mine ]
    note $? "--resp runs on a server that is there, and leaves its data alone"
    kill "$redis"
    wait "$redis" 2>/dev/null
    run --resp "127.0.0.1:$port" --rivals resp -n 1000 --runs 1
    [ $? -eq 1 ] && [ "$(wc -l <"$dir/err")" -ge 1 ] && ! grep -q '█' "$dir/out"
    note $? "--resp where nobody listens: failed, status 1"
else
    skip "bad servers: Redis is not here"
fi

# Ctrl-C in the middle: nothing runs, nothing remains.
stub stub "sleep 1000 & echo \$! >$dir/pid; wait"
rm -f "$dir/pid"
"$caret" 3n1 --program "$dir/bin/stub" -n 300 >"$dir/out" 2>"$dir/err" &
job=$!
soon test -s "$dir/pid"
kill -TERM $job
wait $job
[ $? -eq 143 ] && gone "$(cat "$dir/pid")" && left_behind
note $? "interrupted: nothing runs, nothing remains"

# ------------------------------------------------------------------ arguments

for bad in "--rivals nobody" "--rivals ," "--runs 0" "--resp nowhere" "-w 1,x" "-n 10,0" "--limit 0" "--runs 1 --keep" \
    "--lua nolua"; do
    # shellcheck disable=SC2086 # several words
    run $bad
    [ $? -eq 2 ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && [ ! -s "$dir/out" ] && left_behind
    note $? "$bad: one line, status 2"
done

for interpreter in luajit lua5.1 lua5.4; do
    command -v $interpreter >/dev/null || continue
    run --lua $interpreter -n 1000 -w 2 --json && grep -q '"longest":178,"highest":250504,' "$dir/out" &&
        [ ! -s "$dir/err" ] && left_behind
    note $? "workers in $interpreter"
done

finish
