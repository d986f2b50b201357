#!/bin/sh
# caret top beside caret-server: the server is found, at a path and at a port; its commands are counted exactly; its
# clients; passwords; another server at its address; one that goes and comes again.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret luajit
server=$build/caret-server
[ -x "$server" ] || { echo "skipped: the server is not built" && exit 77; }
pids=
# shellcheck disable=SC2086 # numbers
trap 'kill $pids 2>/dev/null; rm -rf "$dir"' EXIT
export CARET_DB="$dir/a.caret"

# ask socket word...: what the server there answers; with "x100" before the words, that often by one client
ask()
{
    cd "$source/test/server" && luajit - "$@" <<'END'
    local c = assert(require("resp").connect(arg[1]))
    c("CLIENT", "SETNAME", "asker")
    local times = tonumber(arg[2]:match "^x(%d+)$")
    for _ = 1, times or 1 do
        local answer = c(unpack(arg, times and 3 or 2))
        if not times then print(type(answer) == "table" and answer.error or answer) end
    end
END
}

# serve socket database argument...: its number in $pid
serve()
{
    "$server" "$dir/$2.caret" --unix "$1" --port 0 --workers 2 2>"$dir/log" &
    pid=$!
    pids="$pids $pid"
    soon ask "$1" PING
}

ended()
{
    kill "$1" && wait "$1"
}

# counted NAME: how many calls of that command all looks in $dir/top.json saw
counted()
{
    luajit - "$1" "$dir/top.json" <<'END'
    local sum = 0
    for line in io.lines(arg[2]) do
        local seconds = tonumber(line:match '"seconds":([%d.e-]+)')
        local calls = line:match('{"name":"' .. arg[1] .. '","calls":([%d.e+]+)')
        sum = sum + (calls and tonumber(calls) * seconds or 0)
    end
    print(math.floor(sum + 0.5))
END
}

it_counted() { [ "$(counted "$1")" -ge "$2" ]; }

"$caret" set '^x' 1
expect 0 "a database without a server" top -n 1 -i 0.01 --json
! grep -q '"server"' "$dir/out"
note $? "tells of none"
expect 3 "a server that is not there" top -n 1 --server "$dir/none"
grep -qF "$dir/none: No such file" "$dir/err"
note $? "why not"
for address in x 65536 here:x; do
    expect 3 "no address: $address" top -n 1 --server $address
    grep -q "$address: a path (with a /), a port or HOST:PORT is expected" "$dir/err"
    note $? "which is said of $address"
done

serve "$dir/s" a
first=$pid
env --default-signal "$caret" top --json -i 0.05 >"$dir/top.json" 2>"$dir/top.err" &
top=$!
pids="$pids $top"
soon grep -q '"server":{"address"' "$dir/top.json"
ask "$dir/s" x300 INCR n
ask "$dir/s" x20 LPUSH l a
ask "$dir/s" x3 GET l
soon it_counted get 3
kill -INT $top
wait $top
[ "$(counted incr) $(counted lpush) $(counted get) $(counted ping)" = "300 20 3 0" ] && [ ! -s "$dir/top.err" ]
note $? "each command is counted, and once: $(counted incr) $(counted lpush) $(counted get) $(counted ping)"

mkfifo "$dir/hold"
(cd "$source/test/server" && luajit -e 'local c = require("resp").connect(arg[1])
    c("CLIENT", "SETNAME", "the-holder") c("GET", "n") io.open(arg[2]):read()' /dev/null "$dir/s" "$dir/hold") &
holder=$!
pids="$pids $holder"
soon sh -c "cd '$source/test/server' && luajit -e 'local c = require(\"resp\").connect(arg[1])
    os.exit(c(\"CLIENT\", \"LIST\"):find \"name=the%-holder .*cmd=get\" and 0 or 1)' /dev/null '$dir/s'"
expect 0 "as text" top -n 1 -i 0.05
grep -qF "server at $dir/s: " "$dir/out" && grep -q ' the-holder  *[0-9]*  *[0-9]*  get$' "$dir/out" &&
    grep -q ' caret-top .*(this one)$' "$dir/out" && grep -q ' [0-9.]*  client|list$' "$dir/out"
note $? "clients by name, with their last command"
echo >"$dir/hold"
wait $holder

ask "$dir/s" CONFIG SET requirepass secret
expect 0 "a server with a password" top -n 1 -i 0.01
grep -qF "server: $dir/s: NOAUTH " "$dir/out"
note $? "refuses"
export REDISCLI_AUTH=secret
expect 0 "with the password" top -n 1 -i 0.01 --server "$dir/s"
grep -qF "server at $dir/s: " "$dir/out"
note $? "answers"
unset REDISCLI_AUTH

mv "$dir/s" "$dir/moved"
serve "$dir/s" b
second=$pid
expect 0 "another server at its address" top -n 1 -i 0.01
grep -qF "server: $dir/s: another server answers there" "$dir/out"
note $? "is not taken for it"
ended $second
ended $first

# At a port, the first that is free: it is found all the same. It goes, and comes again.
port=$((20000 + $$ % 10000))
it_serves_or_ended() { grep -q 'workers*, port' "$dir/log" || ! kill -0 "$pid"; }
serve_port()
{
    while :; do
        : >"$dir/log"
        "$server" "$CARET_DB" --port $port 2>"$dir/log" &
        pid=$!
        soon it_serves_or_ended
        kill -0 $pid 2>/dev/null && break
        wait $pid
        port=$((port + 1))
    done
    pids="$pids $pid"
}
serve_port
env --default-signal "$caret" top --json -i 0.05 >"$dir/top.json" 2>"$dir/top.err" &
top=$!
pids="$pids $top"
soon grep -qF "\"server\":{\"address\":\"127.0.0.1:$port\"" "$dir/top.json"
note $? "one at a port is found"
ended $pid
soon sh -c "tail -n 1 '$dir/top.json' | grep -vq '\"server\"'"
note $? "it goes"
serve_port
soon sh -c "tail -n 1 '$dir/top.json' | grep -qF '\"server\":{\"address\":\"127.0.0.1:$port\"'"
note $? "and comes again"
kill -INT $top
wait $top
[ $? = 130 ] && [ ! -s "$dir/top.err" ]
note $? "top outlives it, until Ctrl-C"
ended $pid
pids=
finish
