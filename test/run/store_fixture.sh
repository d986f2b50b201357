#!/bin/sh
# Servers of PostgreSQL for tests leave nothing, also when they are killed, and the proxy between does what it is told.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need "$build/test/proxy"
# shellcheck source=../store/postgres.sh
. "$source/test/store/postgres.sh"

# ------------------------------------------------------------------ a server

# What a server leaves in /tmp, in shared memory and among the processes.
left_of() { [ ! -e "$1" ] && ! ipcs -m | grep -q "^0x$2 " && ! pgrep -f -- "-D $1" >"$dir/out"; }

cat >"$dir/command" <<'COMMAND'
echo "$CARET_TEST_PG" >"$1.new"
psql -XAtc 'show fsync' >"$1.fsync"
sed -n '7s/^ *\([0-9]*\) .*/\1/p' "$CARET_TEST_PG/s/data/postmaster.pid" | xargs printf '%08x' >"$1.key"
mv "$1.new" "$1"
while [ "$2" = stay ] && [ -d "$CARET_TEST_PG" ]; do
    sleep 0.05
done
exit 5
COMMAND

sh "$source/test/with_postgres.sh" sh "$dir/command" "$dir/a" go >"$dir/out" 2>&1
status=$?
[ $status = 77 ] && cat "$dir/out" && exit 77
[ $status = 5 ] && [ "$(cat "$dir/a.fsync")" = off ]
note $? "a command runs beside a server, and its status is told ($status)"
left_of "$(cat "$dir/a")" "$(cat "$dir/a.key")"
note $? "then nothing is left of the server"

sh "$source/test/with_postgres.sh" sh "$dir/command" "$dir/b" stay >"$dir/out" 2>&1 &
pid=$!
soon [ -f "$dir/b" ]
kill -9 $pid
wait $pid 2>/dev/null
soon left_of "$(cat "$dir/b")" "$(cat "$dir/b.key")"
note $? "nothing is left after kill -9 either"

# ----------------------------------------------------------------- the proxy

pg_begin
trap 'pg_end; rm -rf "$dir"' EXIT
pg_make s && pg_proxy p s
note $? "a proxy before a server"
pg_sql p 'create table t(i int)'

# ask STATEMENT: through the proxy
ask() { pg_sql p "$1" >"$dir/out" 2>&1; }
stored() { [ "$(pg_sql s 'select string_agg(i::text, $$ $$ order by i) from t')" = "$1" ]; }

pg_tell p "request 1"
ask 'insert into t values (1)'
[ $? != 0 ] && stored ''
note $? "a request is lost"
ask 'select 1'
note $? "one that does not write is not"
pg_tell p "reply 1"
ask 'insert into t values (2)'
[ $? != 0 ] && stored 2
note $? "a reply is lost: it is done"
pg_tell p "late 1"
ask 'insert into t values (3)'
note $((! $?)) "a request arrives late: its client knows nothing,"
soon stored '2 3'
note $? "and it is done later"
pg_tell p "off"
ask 'insert into t values (4)' && stored '2 3 4'
note $? "off: nothing is lost"
pg_tell p "reply 2"
ask 'insert into t values (5)' && ask 'insert into t values (6)'
[ $? != 0 ] && stored '2 3 4 5 6'
note $? "every second reply"
pg_tell p "off"
# What a bad network costs is a time, but no test of one: it is not less than it was told.
begin=$(date +%s%N)
pg_tell p "delay 30"
ask 'select 1'
[ $(($(date +%s%N) - begin)) -gt 60000000 ]
note $? "a delay in both directions"
pg_tell p "delay 0"
pg_tell p "stall"
timeout 0.5 psql -X -h "$pg_folder/p" -U "$pg_user" -c 'select 1' >"$dir/out" 2>&1
[ $? = 124 ]
note $? "stalled: no answer"
pg_tell p "go"
ask 'select 1'
note $? "it goes on"
asleep() { [ "$(pg_sql s "select count(*) from pg_stat_activity where query like 'select pg_sl%'")" = 1 ]; }
ask 'select pg_sleep(1000)' 2>/dev/null &
soon asleep
pg_tell p "cut"
wait $!
[ $? = 2 ] && grep -q 'closed the connection' "$dir/out"
note $? "all connections are cut"
pg_sql s "select pg_terminate_backend(pid) from pg_stat_activity where query like 'select pg_sl%'" >/dev/null
ask "select string_agg(repeat('x', 1000), '') from generate_series(1, 16000)"
[ "$(wc -c <"$dir/out")" = 16000001 ]
note $? "large answers"

finish
