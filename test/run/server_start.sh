#!/bin/sh
# How caret-server starts and does not: help, wrong arguments, and an address that is taken.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret luajit
server=$build/caret-server
[ -x "$server" ] || { echo "skipped: the server is not built" && exit 77; }

keep "$server" --help
note $? "--help succeeds"
grep -q '^usage: caret-server' "$dir/out" && grep -q -- '--shm-dir FOLDER' "$dir/out" && [ ! -s "$dir/err" ]
note $? "--help prints the options"
keep "$server" --version && grep -q '^caret-server [0-9]' "$dir/out"
note $? "--version"

# refused text arguments...
refused()
{
    text=$1
    shift
    keep "$server" "$@"
    status=$?
    [ $status = 2 ] || [ $status = 3 ]
    note $? "$*: status $status"
    grep -qF -- "$text" "$dir/err" && [ "$(wc -l <"$dir/err")" = 1 ]
    note $? "$*: one line with: $text"
}

refused '--port: it needs a value; usage: caret-server [FILE]' --port
refused '-p: options begin with two hyphens' -p 1
refused 'b: one database at a time' a b
refused '--nonsense 1: there is no such option' --nonsense 1
refused 'nowhere to listen' --shm-dir "$dir" --port 0 "$dir/nowhere.caret"

# ask socket word...: what the server there answers
ask()
{
    cd "$source/test/server" && luajit - "$@" <<'END'
    local c = assert(require("resp").connect(arg[1]))
    local answer = c(unpack(arg, 2))
    print(type(answer) == "table" and answer.error or answer)
END
}

# it_answers_or_ended: the server with the number $pid
it_answers_or_ended() { (ask "$dir/s" PING) || ! kill -0 "$pid"; }

# A server on the first port that is free; its config file is empty.
: >"$dir/conf"
port=$((20000 + $$ % 10000))
while :; do
    "$server" "$dir/a.caret" --config "$dir/conf" --shm-dir "$dir" --port $port --unix "$dir/s" 2>"$dir/log" &
    pid=$!
    soon it_answers_or_ended
    kill -0 $pid 2>/dev/null && break
    wait $pid
    port=$((port + 1))
done
trap 'kill $pid; rm -rf "$dir"' EXIT
refused "127.0.0.1, port $port: Address already in use: another server listens there; end it, or choose another with \
--port" "$dir/b.caret" --shm-dir "$dir" --port $port
refused "$dir/s: Address already in use: another server listens there; end it, or choose another with --unix" \
    "$dir/b.caret" --shm-dir "$dir" --port 0 --unix "$dir/s"
kill $pid
wait $pid
note $? "it ends when it is told to"
trap 'rm -rf "$dir"' EXIT

# A server that was started without the three standard descriptors, and with SIGCHLD ignored, as some programs that
# start others do.
env --ignore-signal=CHLD "$server" "$dir/a.caret" --shm-dir "$dir" --port 0 --unix "$dir/s" <&- >&- 2>&- &
pid=$!
trap 'kill -9 $pid; rm -rf "$dir"' EXIT
soon it_answers_or_ended
[ "$(readlink /proc/$pid/fd/0 /proc/$pid/fd/1 /proc/$pid/fd/2 | uniq)" = /dev/null ]
note $? "closed standard descriptors are /dev/null, and none of the server's own"
worker() { tr -d ' ' <"/proc/$pid/task/$pid/children"; }
old=$(worker)
another() { [ -n "$(worker)" ] && [ "$(worker)" != "$old" ] && ask "$dir/s" PING; }
kill -9 "$old"
soon another
note $? "where SIGCHLD was ignored a worker that dies is replaced"
kill $pid
ended() { ! kill -0 $pid 2>/dev/null; }
soon ended
note $? "and the server ends when it is told to"
trap 'rm -rf "$dir"' EXIT

# caret serve hands on what it does not know: a parameter, or the server's refusal of it.
server=$caret
refused '--nonsense 1: there is no such option' serve --nonsense 1
refused '--nonsense: there is no such option' serve --nonsense
"$caret" serve "$dir/a.caret" --shm-dir "$dir" --maxclients 99 --port 0 --maxmemory=3mb --unix "$dir/s" 2>"$dir/log" &
pid=$!
trap 'kill $pid; rm -rf "$dir"' EXIT
soon it_answers_or_ended
(ask "$dir/s" INFO) >"$dir/out" 2>&1
grep -q '^maxclients:99.$' "$dir/out" && grep -q '^maxmemory:3145728.$' "$dir/out"
note $? "caret serve takes the server's parameters"
kill $pid
wait $pid
trap 'rm -rf "$dir"' EXIT

finish
