#!/bin/sh
# A server whose disk, or shared memory, is full: writes are refused with an error that says so, reads go on, and
# writes too when there is room again.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret redis-cli
[ -x "$build/caret-server" ] || { echo "skipped: the server is not built" && exit 77; }
[ -n "${CARET_OWN_MEMORY:-}" ] || { echo "skipped: nothing can be mounted here" && exit 77; }
mkdir "$dir/disk" "$dir/shm"
mount -t tmpfs -o size=120m tmpfs "$dir/disk" && mount -t tmpfs -o size=200m tmpfs "$dir/shm" || exit 77
pid=
trap '[ -z "$pid" ] || { kill "$pid"; wait "$pid"; } 2>/dev/null; umount "$dir/disk" "$dir/shm"; rm -rf "$dir"' EXIT

ask()
{
    redis-cli -s "$dir/s" "$@" >"$dir/out" 2>"$dir/err"
}

answers()
{
    ask PING && grep -q PONG "$dir/out"
}

start()
{
    "$build/caret-server" "$dir/disk/data.caret" --shm-dir "$dir/shm" --port 0 --unix "$dir/s" --workers 2 2>"$dir/log" &
    pid=$!
    soon answers
    note $? "the server starts"
}

stop()
{
    kill "$pid"
    wait "$pid"
    pid=
}

# Leave so many KiB of a file system: fill FOLDER KIB
fill()
{
    free=$(df -k --output=avail "$1" | tail -n 1)
    head -c "$((free - $2))k" /dev/zero >"$1/filler"
}

head -c 200000 /dev/zero | tr '\0' v >"$dir/value"

# Set keys $1-1, $1-2 ... of 200,000 bytes until one is refused, $2 at most: how many were set.
set_until_full()
{
    n=0
    while [ "$n" -lt "$2" ]; do
        redis-cli -s "$dir/s" -x SET "$1-$((n + 1))" <"$dir/value" >"$dir/out" 2>&1
        grep -q '^OK' "$dir/out" || break
        n=$((n + 1))
    done
}

# All that were acknowledged are there: all_there PREFIX N
all_there()
{
    i=0
    while [ "$i" -lt "$2" ]; do
        i=$((i + 1))
        ask STRLEN "$1-$i"
        [ "$(cat "$dir/out")" = 200000 ] || return 1
    done
}

can_set()
{
    ask SET again yes && grep -q '^OK' "$dir/out" &&
        redis-cli -s "$dir/s" -x SET again-big <"$dir/value" | grep -q '^OK'
}

start
fill "$dir/disk" 4000
set_until_full disk 500
[ "$n" -gt 0 ] && grep -q '^MISCONF' "$dir/out"
note $? "a full disk is told: $(cat "$dir/out")"
set=$n
all_there disk "$set" && answers
note $? "reads go on"
redis-cli -s "$dir/s" >"$dir/out" <<'END'
MULTI
EVAL "return redis.call('set', 'much', ('x'):rep(1000000))" 0
EXEC
EXEC
END
grep -q '^EXECABORT Transaction discarded because of: MISCONF' "$dir/out" && grep -q '^ERR EXEC without MULTI' "$dir/out"
note $? "EXEC says that its transaction is over"
rm "$dir/disk/filler"
soon can_set
note $? "there is room again"
all_there disk "$set"
note $? "nothing that was answered is lost"

fill "$dir/shm" 2000
set_until_full shm 40
grep -Eq '^(OOM|MISCONF|OK)' "$dir/out"
note $? "full shared memory is told, or gone around: $(cat "$dir/out")"
in_memory=$n
all_there disk "$set" && all_there shm "$in_memory"
note $? "reads go on with full shared memory"
rm "$dir/shm/filler"
soon can_set
note $? "there is shared memory again"
stop
start
all_there disk "$set" && all_there shm "$in_memory"
note $? "all is there after a restart"
stop
finish
