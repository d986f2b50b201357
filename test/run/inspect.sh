#!/bin/sh
# shellcheck disable=SC2016 # $C() is text here
# caret locks, log, watch, top, shm: what they tell of other processes, as text and JSON; bad options; how they end.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret
cd "$dir" || exit 1
export CARET_DB="$dir/a.caret"

# try status arguments...: runs the tool, out and err kept
try()
{
    want=$1
    shift
    timeout "$patience" "$caret" "$@" >out 2>err </dev/null
    status=$?
    [ "$status" = "$want" ]
    note $? "caret $*: status $status, not $want"
}

# until_true command...: one case, it succeeds in the end
until_true()
{
    soon "$@"
    "$@" >out 2>err
    note $? "in time: $*"
}

try 0 set '^x' 0
try 1 locks
try 1 log
[ ! -s out ]
note $? "nothing is locked, nothing in the log"
try 3 locks --db none.caret
try 2 locks --clear x
try 2 log --node 'x('
try 2 watch
try 2 watch '^x' --interval 0
try 2 top --interval x
try 2 top --limit 0

# A process that holds locks and changes things until the file `go` is there.
cat >holder.lua <<'END'
local x = db.node("^x")
x[1]:grab() x[2]:grab() x[2]:grab()
local function wait_for(name)
    while true do
        local f = io.open(name)
        if f then return f:close() end
        os.execute("sleep 0.05")
    end
end
io.open("held", "w"):close()
wait_for("go")
for i = 1, 3 do x[i].__ = i end
db:tp(function() x[1]:kill() x[2]:delete() db.node("^y").__ = "\1é" end)
x:kill_range {from = 2, before = "b"}
x.u1.__ = 1
x:kill_range {prefix = "u"}
io.open("changed", "w"):close()
wait_for("end")
END
"$caret" run holder.lua &
holder=$!
until_true test -e held
echo 'db.node("^x"):grab(30)' | "$caret" run - &
waiter=$!
until_true sh -c "'$caret' locks | grep -q waits"
[ "$(wc -l <out)" = 0 ] && try 0 locks
[ "$(awk '{print $3}' out | tr '\n' ' ')" = 'waits holds holds ' ] && grep -q " $holder  *holds 2x .*\^x(2)   (1 wait)" out
note $? "the holders and the waiter"
try 0 locks --json
grep -q "^\[{\"name\":\"^x\",\"waits\":true,\"alive\":true,\"pid\":$waiter,.*\"count\":2,\"waiting\":1,\"age\":" out
note $? "in JSON, too"
try 1 locks --clear $holder
grep -q 'is alive: end it' err
note $? "nothing is taken from the living"
try 0 locks --clear dead --json
grep -q '^{"cleared":[0-9]}$' out
note $? "what was cleared as JSON"
try 0 locks --clear dead

env --default-signal "$caret" watch '^x' >watched 2>watched.err &
watcher=$!
# As by a parent that ignores its children's ends.
env --default-signal --ignore-signal=CHLD "$caret" watch '^y' -- sh -c 'printf "%s %s %s\n" "$CARET_KIND" "$CARET_NODE" "$CARET_VALUE" >>ran; exit 127' &
runner=$! # 127 is how sh ends that can't run what it is told, not how a command ends that can't be run itself
env --default-signal "$caret" top --json --interval 0.05 >top.json 2>top.err &
top=$!
until_true sh -c "'$caret' set '^x(0)' probe; grep -q probe watched" # they are there when they see something
until_true sh -c "'$caret' set '^y(0)' probe; grep -q probe ran"
touch go
until_true test -e changed
until_true grep -q '^set ^y ' ran
[ "$(tail -n 1 ran)" = "set ^y $(printf '\001é')" ]
note $? "a command is run, and knows why"
try 0 log
[ "$(grep -v probe out | cut -d ' ' -f 2-)" = '1/1 set ^x(1)="1"
1/1 set ^x(2)="2"
1/1 set ^x(3)="3"
1/3 kill ^x(1)
2/3 delete ^x(2)
3/3 set ^y=$C(1)_"é"
1/1 kill_range ^x from=2 before="b"
1/1 set ^x("u1")="1"
1/1 kill_range ^x prefix="u"' ]
note $? "the log"
second=$(sed -n 's/ .*x(2)="2"$//p' out)
try 0 log --from "$second" --limit 1 --json
grep -q '^{"lsn":[0-9]*,"index":1,"count":1,"kind":"set","node":\["^x",3\],"value":3}$' out
note $? "from a place on, in JSON"
try 0 log --node '^x("u1")' --json
grep -q '"kind":"kill_range","node":\["^x"\],"range":{"prefix":"u"}}$' out
note $? "a range, in JSON"
try 0 log --node '^x(1)'
[ "$(cut -d ' ' -f 3- out)" = 'set ^x(1)="1"
kill ^x(1)' ]
note $? "of one node"
try 3 log --from 1
grep -q NOTFOUND err
note $? "a place that is not in the log"
until_true grep -q 'kill_range ^x prefix' watched
kill -INT $watcher
wait $watcher
[ $? = 130 ] && [ "$(grep -vc probe watched)" = 8 ] && [ ! -s watched.err ]
note $? "changes are seen as they happen, until Ctrl-C"
{ timeout "$patience" "$caret" watch '^x' 2>first.err; echo $? >first.status; } | head -n 1 >first &
until_true sh -c "'$caret' set '^x(1)' 7; [ -s first ]"
until_true [ -s first.status ] # though nothing changes any more
grep -q '="7"' first && [ "$(cat first.status)" = 141 ] && [ ! -s first.err ]
note $? "a pipe that closes ends it"

"$caret" watch '^w' -- ./none 2>none.err &
none=$!
until_true sh -c "'$caret' set '^w(0)' probe; [ -s none.err ]"
wait "$none"
[ $? = 3 ] && [ "$(cat none.err)" = "caret watch: ./none can't be run: No such file or directory" ]
note $? "a command that can't be run ends it"

# The environment of a command takes neither every byte nor every length.
CARET_VALUE=stale "$caret" watch '^z' -- sh -c 'echo "$CARET_NODE ${CARET_VALUE-none}" >>told' 2>told.err &
teller=$!
until_true sh -c "'$caret' set '^z(0)' probe; grep -q 'probe' told"
for value in 'printf "a\0b"' 'head -c 200000 /dev/zero'; do
    : >told
    sh -c "$value" | tr '\1' '\0' | "$caret" set --raw '^z(1)' -
    until_true grep -qxF '^z(1) none' told
    note $? "a value that can't be in the environment is not: $value"
done
: >told
"$caret" kill '^z(1)'
until_true grep -qxF '^z(1) none' told
note $? "nor is one of a kill"
[ ! -s told.err ]
note $? "the command can be run each time"
kill $teller
wait $teller

try 0 top -n 1 -i 0.1
grep -q 'per second: [0-9]* gets' out && grep -q " $holder .*caret" out && ! grep -q "$(printf '\033')" out
note $? "top in plain text"
echo 'while true do db:set("^hit", "a b", 7, "other") end' >other.lua
cat >collide.lua <<'END'
while true do
    local tries = 0
    db:tp(function()
        tries = tries + 1
        db:get("^hit", "a b", 7)
        if tries == 1 then os.execute "sleep 0.01" end
        db:set("^hit", "a b", 7, "mine")
    end)
end
END
"$caret" run other.lua &
other=$!
"$caret" run collide.lua &
collider=$!
until_true grep -q '"collisions":\[{"name":"^hit(\\"a b\\",7)","above":false,"restarts":[0-9.]*,"count":[0-9]*,"pid":'$collider'}\]' top.json
collided() { "$caret" top -n 1 -i 0.3 >out 2>err && grep -q '^ *[1-9][0-9]*  ^hit("a b",7)$' out; }
until_true collided # on a busy machine nothing collides in a third of a second
kill $collider $other
kill -INT $runner $top
[ ! -s top.err ] && grep -q '"globals":\[{"name":"^[xy]","changes":[1-9]' top.json && grep -q '"rates":{"gets":' top.json
note $? "top saw the changes"
kill $holder $waiter
wait $holder $waiter $runner $top $collider $other
try 0 check

# A database whose users are killed, and whose files are deleted: its memory is found, told of, removed.
export CARET_DB="$dir/b.caret"
echo 'db.node("^x").__ = 1 db:sync() io.open("stays", "w"):close() os.execute("exec sleep 600")' >stays.lua
"$caret" run stays.lua &
killed=$!
until_true test -e stays
segments() { "$caret" shm | grep -B 1 -F " $CARET_DB:" >found; }
segments
grep -q ": used, by $killed\$" found
note $? "memory in use, and by whom"
sleeper=$(pgrep -P $killed)
kill -9 $killed
wait $killed 2>/dev/null
[ -n "$sleeper" ] && kill "$sleeper"
segments
grep -q ": needed\$" found
note $? "what the next opening needs"
rm -f "$CARET_DB" "$CARET_DB"-*
orphaned() { segments && grep -q ": orphaned\$" found; }
soon orphaned # the child that was to be "sleep" may still have had it open
orphaned
note $? "what nobody needs"
"$caret" shm --remove --json | grep -q '"database":"'"$CARET_DB"'","state":"orphaned",.*"removed":true}'
note $? "is removed, and that is said"
! segments
note $? "is gone"
try 2 shm --lost
try 3 shm --shm-dir /nowhere

finish
