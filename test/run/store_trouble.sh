#!/bin/sh
# What befalls a server in the midst of a program's work: a signal comes while it is silent, rights are taken away,
# tables dropped, its disk is full, values are huge.  The program gets an error that says what is wrong, nothing is done
# by halves, and when the trouble is over it goes on.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret lua5.4 "$build/test/proxy" "$build/lua/5.4/caret.so"
# shellcheck source=../store/postgres.sh
. "$source/test/store/postgres.sh"
# shellcheck source=../store/ask.sh
. "$source/test/store/ask.sh"

pg_begin
full=
trap '[ -z "$full" ] || umount -l "$full"; pg_end; rm -rf "$dir"' EXIT
pg_make s && pg_proxy p s
note $? "a server"
url=$(pg_url s)
worker=$(printf '%s' "$url" | sed 's|//[^@]*@|//worker@|')

# ------------------------------------------------------- a signal in a silence

# It would wait for ever, so nothing but the signal ends it.
silent="$(pg_url p)?caret_timeout=0"
cat >"$dir/asks.lua" <<'LUA'
io.stdout:setvbuf "line"
local db = assert(require "caret".open(arg[1]))
db:set("^a", 1)
print "asks"
io.read()
print(db:get "^a")
LUA
cat >"$dir/asks.py" <<'PYTHON'
import sys, caret
db = caret.open(sys.argv[1])
db["^a"] = 1
print("asks", flush=True)
sys.stdin.readline()
try:
    print(db["^a"].get())
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
    sys.stdin.readline()
    print(db["^a"].get())
PYTHON
mkfifo "$dir/line"

# silence command...: it has asked, and gets no answer
silence()
{
    : >"$dir/out"
    env --default-signal=INT "$@" <"$dir/line" >"$dir/out" 2>"$dir/err" 9>&- 8>&- 7>&- &
    pid=$!
    exec 6>"$dir/line"
    asked() { grep -q asks "$dir/out" || [ ! -d "/proc/$pid" ]; }
    soon asked
    pg_tell p stall
    echo >&6
    waits() { grep -q '^State:.S' "/proc/$pid/status" && [ "$(cut -d' ' -f1 "/proc/$pid/syscall")" = 7 ]; }
    if [ "$(uname -m)" = x86_64 ] && [ -r "/proc/$pid/syscall" ]; then # in poll()
        soon waits
    else
        sleep 0.5
    fi
}

silence "$caret" run "$dir/asks.lua" "$silent"
kill -INT $pid
soon [ ! -d "/proc/$pid" ] # a second signal would end it in any case
wait $pid
[ $? = 130 ]
note $? "Ctrl-C ends the tool's wait for a silent server"
exec 6>&-
pg_tell p go

if PYTHONPATH=$build/python python3 -c 'import caret' 2>/dev/null; then
    silence env "PYTHONPATH=$build/python" python3 "$dir/asks.py" "$silent"
    kill -INT $pid
    caught() { grep -q KeyboardInterrupt "$dir/out"; }
    soon caught
    note $? "and Python's"
    pg_tell p go
    echo >&6
    wait $pid && [ "$(tail -n 1 "$dir/out")" = 1 ]
    note $? "which asks again then"
    exec 6>&-
else
    skip "the Python package is not built"
fi

# ------------------------------------------------------------------ rights

may() { pg_sql s "$1" >"$dir/sql" 2>&1; }
may "create role worker login; grant usage on schema caret to worker;
    grant select, insert, update, delete on all tables in schema caret to worker"
ask "$worker"
say 'db:set("^a", 1) return db:get "^a"'
is 1 "a role with all rights"
may 'revoke insert, update on caret.nodes from worker'
say 'db:set("^a", 2)'
is 'permission denied for table nodes (SQLSTATE 42501)' "the right to write is taken away"
say 'return db:get "^a", db:tp(function() return db:get "^a" end)'
is '1 1' "it may read"
may 'grant insert, update on caret.nodes to worker; revoke insert on caret.tokens from worker'
say 'db:set("^a", 2)'
is 'permission denied for table tokens' "without the right to leave a mark nothing is set"
say 'return db:get "^a"'
is 1 "indeed"
may 'grant insert on caret.tokens to worker'
echo 'return (db:tp(function() return db:get "^a", serve() end))' >&6
say 'db:set("^b", 1) db:set("^a", 3)'
may 'revoke insert, update on caret.nodes from worker'
echo end >&6
heard
is 'permission denied' "at the commit of a transaction: an error"
may 'grant insert, update on caret.nodes to worker'
say 'return db:get "^a", db:get "^b"'
is '1 nil' "and nothing of it was done"
may 'revoke select on caret.nodes from worker'
say 'return db:get "^a"'
is 'permission denied' "the right to read is taken away"
may 'grant select on caret.nodes to worker'
say 'return db:tp(function() local n = db:get "^a" + 1 db:set("^a", n) return n end)'
is 2 "with it, it goes on"
quiet

# ------------------------------------------------- what another session locks

# hold STATEMENT: in a transaction that lasts until let_go
hold()
{
    rm -f "$dir/held"
    PGHOST=$pg_folder/s psql -XqAt -U caret -d caret -c "begin" -c "$1" -c "\\! touch $dir/held" \
        -c "select pg_sleep(1000)" >"$dir/psql" 2>&1 9>&- 8>&- 7>&- 6>&- &
    holder=$!
    soon [ -f "$dir/held" ]
}
let_go()
{
    may "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()"
    wait $holder
}

ask "$url?caret_timeout=1"
say 'db:set("^a", 2) return db:get "^a"'
hold 'lock table caret.nodes'
say 'return db:get "^a"'
is 'IO: ' "a get from a locked table is not waited for without end"
is 'another session keeps it locked' "and told why"
say 'db:set("^a", 3)'
is '55P03' "nor a set"
say 'return db:tp(function() return db:get "^a" end)'
is '55P03' "nor a transaction"
let_go
say 'return db:get "^a"'
is 2 "nothing of it was done"
hold 'select from caret.nodes for update'
say 'return db:get "^a"'
is 2 "locked rows can be read"
say 'db:tp(function() db:set("^a", db:get "^a" + 1) end)'
is '55P03' "and a transaction that writes one ends as well"
let_go
say 'return db:tp(function() db:set("^a", db:get "^a" + 1) return db:get "^a" end)'
is 3 "it goes on"
quiet

# --------------------------------------------------- settings of the server's

role() { printf '%s' "$url" | sed "s|//[^@]*@|//$1@|"; }
# One that is idle, and begins after ours: when the server has ended it, ours has been idle for long enough.
may "create role idler login superuser; alter role idler set idle_session_timeout = '200ms'"
ask "$(role idler)"
say 'return db:lock({{"^a"}}, 1)'
PGHOST=$pg_folder/s psql -XqAt -U idler -d caret -c 'set application_name = other' -c "\\! touch $dir/other; sleep 3" \
    >"$dir/psql" 2>&1 9>&- 8>&- 7>&- 6>&- &
holder=$!
ended() { [ "$(pg_sql s "select count(*) from pg_stat_activity where application_name = 'other'")" = 0 ]; }
soon [ -f "$dir/other" ] # it may be ended before anybody sees it in the list
soon ended
say 'return db:get "^a"'
is 3 "a lock is not lost while its program does something else"
wait $holder
quiet

# A path in which others' functions come before the server's own.
may "create role astray login superuser; create schema evil;
    create function evil.unequal(bytea, bytea) returns bool language sql as 'select \$1 is distinct from \$2';
    create function evil.set_config(text, text, bool) returns text language sql as 'select null::text';
    create operator evil.= (function = evil.unequal, leftarg = bytea, rightarg = bytea);
    alter role astray set search_path = evil, pg_catalog"
ask "$(role astray)"
say 'db:set("^b", 9) return db:get "^a", db:get "^b", db:get "^c"'
is '3 9 nil' "a search_path with an = of its own"
say 'db:tp(function() db:set("^a", db:get "^a" + 1) db.node("^b"):kill() end) return db:get "^a", db:get "^b"'
is '4 nil' "also in a transaction"
quiet

# ------------------------------------------------ a standby that is not there

# An operator ends the wait: PostgreSQL says OK to the program then, with a warning.
ask "$url?caret_timeout=0" # else it would be found out in any case, after a while
may "alter system set synchronous_standby_names = 'nobody'" && pg_reload s
echo "for i = 1, math.huge do db:set('^s', i) if io.open '$dir/stop' then return 'done' end end" >&6
waits_for() { [ "$(pg_sql s "select count(*) from pg_stat_activity where wait_event = 'SyncRep' and query like '%$1'")" = 1 ]; }
soon waits_for ''
may "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
soon waits_for 'returning state'
note $? "a commit that is ended in its wait for a standby is not acknowledged"
: >"$dir/stop"
may "alter system reset synchronous_standby_names" && pg_reload s
heard
is 'done' "but when it is there"
say 'return db:get "^s" + 0 > 0'
is true "and it was done"
quiet

# -------------------------------------------------- a snapshot that is lost

lose() { may "select pg_terminate_backend(pid, 60000) from pg_stat_activity where application_name = 'caret'"; }
ask "$url"
echo 'return db:snapshot(function() db:get "^a" serve() return db:get "^b" end)' >&6
say 'return db:lock({{"^l"}}, 1), db:get "^a"'
is '4' "a snapshot, and a lock in it"
lose
say 'local told = "" for _ = 1, 2 do told = told .. select(2, pcall(db.get, db, "^a")).message end return told'
is 'the snapshot is lost' "it is lost with its connection"
is 'that held the locks' "and so is the lock"
say 'return db:get "^a"'
is 'the snapshot is lost' "each read tells that"
echo end >&6
heard
is 'the snapshot is lost' "the function is not run again"
say 'return db:snapshot(function() return db:get "^a" end)'
is '4' "and another snapshot is one"
say 'for i = 1, 40 do db:set("^big", i, string.rep("x", 500000)) end return "big"'
is big "20 MB, more than what is between two programs"
mkfifo "$dir/dumped"
for how in '' --readonly; do
    "$caret" dump $how --db "$url" '^big' >"$dir/dumped" 2>"$dir/err" 9>&- 8>&- 7>&- 6>&- &
    dumper=$!
    exec 5<"$dir/dumped"
    read -r _ <&5
    lose
    cat <&5 >/dev/null
    exec 5<&-
    wait $dumper
    [ $? = 3 ] && grep -q 'EVICTED: .*the snapshot is lost' "$dir/err"
    note $? "a dump ${how:+with $how }says so: $(cat "$dir/err")"
done
say 'db.node("^big"):kill() return db:get "^a"'
is 4 "which others do not notice"
quiet

# ------------------------------------------------------------------ tables

ask "$url"
say 'return db:get "^a"'
may 'alter table caret.nodes rename to elsewhere'
say 'return db:get "^a"'
is 'NOTFOUND' "the table is gone"
is '"caret.nodes" does not exist' "which is told"
say 'db:set("^a", 1)'
is 'does not exist' "for a set"
say 'for _ in db.node("^a"):pairs() do end'
is 'does not exist' "and a walk"
may 'alter table caret.elsewhere rename to nodes'
say 'return db:get "^a"'
is 4 "it is there again"
may 'drop schema caret cascade'
say 'return db:get "^a"'
is NOTFOUND "all is dropped"
CARET_DB=$url keep "$caret" set '^a' 5
say 'return db:incr("^a", 1)'
is 6 "and made anew by another program"
quiet

# ------------------------------------------------------------------ size

ask "$url"
say 'local v = string.rep("oak\0", 2^22) db:set("^v", v) return #v, db:get "^v" == v'
is '16777216 true' "a value of 16 MiB"
say 'db:set("^v", string.rep("x", 2^24 + 1))'
is VALUE2BIG "and one byte more"
say 'db:tp(function() for i = 1, 5 do db:set("^w", i, string.rep("x", 2^24)) end end)'
is TXN_TOO_BIG "80 MiB in a transaction"
is '67108864 are the limit here: make several of it' "which is told as a limit of ours, with what helps"
say 'db:tp(function() for i = 1, 3 do db:set("^w", i, string.rep("x", 2^24)) end end) return db.node("^w"):count(), #db:get("^w", 3)'
is "3 16777216" "and 48"
say 'db.node("^w"):kill() db.node("^v"):kill() return db:get "^a"'
is 6 "killed again"
quiet

# ------------------------------------------------------------------ a full disk

small=$pg_folder/small
if [ -n "$CARET_OWN_MEMORY" ] && mkdir "$small" && mount -t tmpfs -o size=4m,mode=777 tmpfs "$small" 2>"$dir/err"; then
    full=$small
    pg_run mkdir -m 700 "$small/room"
    may 'vacuum full caret.nodes' && may "create tablespace small location '$small/room'" &&
        may 'alter table caret.nodes set tablespace small'
    note $? "a disk with 4 MB"
    ask "$url"
    say 'for i = 1, 20 do db:set("^big", i, string.rep("x", 500000)) end'
    is DISKFULL "it becomes full"
    is '53100' "as the server says"
    say 'local n = db.node("^big"):count() return n > 0 and n < 20 and #db:get("^big", n) == 500000, db:get "^a"'
    is 'true 6' "what was acknowledged is there"
    say 'db:tp(function() db:set("^a", 7) db:set("^big", 99, string.rep("y", 1000000)) end)'
    is DISKFULL "a transaction is refused"
    say 'return db:get "^a", db.node("^big", 99):data()'
    is '6 0' "with all of it"
    say 'db.node("^big"):kill() return db.node("^big"):count()'
    is 0 "a kill needs no room"
    mount -o remount,size=16m "$small"
    say 'db:set("^big", 1, string.rep("z", 1000000)) return #db:get("^big", 1)'
    is 1000000 "and it goes on"
    quiet
    may 'alter table caret.nodes set tablespace pg_default' && may 'drop tablespace small'
    umount -l "$small" && full=

    # The log's disk: PostgreSQL ends itself then, as it can't even write that it did.
    pg_stop s
    room=$(du -sm "$pg_folder/s/data/pg_wal" | cut -f1)
    mount -t tmpfs -o size=$((room + 40))m,mode=777 tmpfs "$small" && full=$small
    pg_run mv s/data/pg_wal small/wal && ln -s "$small/wal" "$pg_folder/s/data/pg_wal"
    printf '%s\n' 'max_wal_size = 2GB' 'wal_recycle = off' >>"$pg_folder/s/data/postgresql.conf"
    pg_start s
    ask "$url?connect_timeout=1"
    say 'told = 0 local ok, why = pcall(function() for i = 1, 400 do db:set("^log", i, string.rep("x", 500000)) told = i end end) return why'
    case $said in
    *'UNKNOWN: '* | *'IO: '*) note 0 "no room for the log" ;;
    *) note 1 "no room for the log: $said" ;;
    esac
    say 'db:tp(function() db:set("^a", db:get "^a" + 1) end)'
    is 'IO: ' "nothing is done while the server is away"
    pg_stop s immediate
    mount -o remount,size=$((room + 300))m "$small" && pg_start s
    say 'local n = db.node("^log"):count() return told > 0 and (n == told or n == told + 1), db:get "^a"'
    is 'true 6' "with room it is started: what was acknowledged is there, of what was UNKNOWN one or none"
    say 'return db:tp(function() db:set("^a", db:get "^a" + 1) return db:get "^a" end)'
    is 7 "and it goes on"
    quiet
    pg_stop s
    umount -l "$small" && full=
else
    skip "a full disk: no file system can be mounted here"
fi

finish
