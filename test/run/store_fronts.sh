#!/bin/sh
# The fronts that take a database as they find it, on a server: `caret serve` answers commands of Redis as it does with a
# file, but for those that are about the file; routines in M run; `caret bench mix` measures.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret "$build/caret-server" "$build/caret-m"
# shellcheck source=../store/postgres.sh
. "$source/test/store/postgres.sh"

pg_begin
trap 'pg_end; rm -rf "$dir"' EXIT
pg_make s
note $? "a server"
url=$(pg_url s)

# ------------------------------------------------------------ caret serve

cat >"$dir/commands" <<'COMMANDS'
SET a 1
INCR a
APPEND a xy
GET a
MSET b 2 c 3
MGET a b c d
HSET h f 1 g 2
HGETALL h
HINCRBYFLOAT h f 1.5
LPUSH l 1 2 3
LRANGE l 0 -1
RPOPLPUSH l m
SADD s x y z
SMEMBERS s
ZADD z 1 a 2 b 3 c
ZRANGE z 0 -1 WITHSCORES
XADD x 1-1 f v
XGROUP CREATE x g 0
XREADGROUP GROUP g c COUNT 1 STREAMS x >
XACK x g 1-1
EXPIRE b 100
PERSIST b
RENAME c cc
SCAN 0 COUNT 100
MULTI
INCR a2
INCR a2
EXEC
EVAL "redis.call('set',KEYS[1],ARGV[1]) return redis.call('get',KEYS[1])" 1 k v
BLPOP nothing 0.1
SETBIT bits 7 1
PFADD p a b c
PFCOUNT p
SORT l
COPY h h2
DUMP a
DBSIZE
SELECT 1
SET q 1
SWAPDB 0 1
FLUSHDB
DBSIZE
COMMANDS

# answers DATABASE NAME: what it says to all these, into $dir/NAME
answers()
{
    "$build/caret-server" --port 0 --unix "$dir/socket" "$1" >"$dir/log" 2>&1 9>&- &
    served=$!
    alive() { redis-cli -s "$dir/socket" ping; }
    soon alive && timeout "$patience" redis-cli -s "$dir/socket" <"$dir/commands" >"$dir/$2" 2>&1
    status=$?
    timeout "$patience" redis-cli -s "$dir/socket" SAVE >"$dir/$2.save" 2>&1
    kill $served
    wait $served
    return $status
}

if command -v redis-cli >/dev/null; then
    answers "$dir/a.caret" file
    note $? "commands of Redis at a file"
    answers "$url" server
    note $? "and at a server"
    [ "$(wc -l <"$dir/file")" -gt 60 ] && keep diff -a "$dir/file" "$dir/server"
    note $? "are answered alike"
    grep -q '^OK' "$dir/file.save" && grep -q 'UNSUPPORTED: that is for a database in a file' "$dir/server.save"
    note $? "but for SAVE, which is about the file: $(cat "$dir/server.save")"
else
    skip "redis-cli is not installed"
fi

# --------------------------------------------------------------------- M

cat >"$dir/t.m" <<'M'
t s ^a=1,^a(1)="x",^a(2,"b")=3
 w ^a,$d(^a),$o(^a("")),$o(^a(""),-1),$q(^a),!
 l +^a(1):1 w $t,! l -^a(1)
 ts ():serial s ^a=^a+1 tc
 w ^a,$tl,! ts  s ^a=9 tro  w ^a,!
 w $i(^c),$i(^c,5),!
 k ^a(2) zwr ^a
 m ^b=^a zwr ^b
 n i,n,k f i=1:1:1000 s ^n(i)=i
 s n="",k=0 f  s n=$o(^n(n)) q:n=""  s k=k+1
 w k,!
 q
M
# said DATABASE NAME
said() { (cd "$dir" && ydb_routines=. CARET_DB=$1 timeout "$patience" "$build/caret-m" -run t </dev/null >"$2" 2>&1 9>&-); }
said "$dir/m.caret" file && said "$url" server && grep -qx 1000 "$dir/file" && keep diff "$dir/file" "$dir/server"
note $? "a routine in M writes the same"

# ------------------------------------------------------------------ load

# Each commit has a token, of which a connection sweeps a thousand at a time.
tokens() { pg_sql s 'select count(*) from caret.tokens'; }
had=$(tokens)
awk 'BEGIN {
    for (i = 1; i <= 3000; i++) print "{\"node\":[\"^load\"," i "],\"value\":1}"
    print "nonsense"
}' | "$caret" load --db "$url" >"$dir/out" 2>"$dir/err"
[ "$("$caret" get --db "$url" '^load(3000)')" = 1 ] && [ $(($(tokens) - had)) -lt 50 ]
note $? "a load of 3,000 nodes is few commits: $(($(tokens) - had))"
grep -q '3000 nodes loaded, 1 bad' "$dir/out" "$dir/err"
note $? "what is before a bad line is there"
mkfifo "$dir/slow"
"$caret" load --db "$url" <"$dir/slow" >"$dir/out" 2>&1 9>&- &
loading=$!
exec 6>"$dir/slow"
for i in 1 2 3; do echo "{\"node\":[\"^slow\",$i],\"value\":1}" >&6; done
there() { [ "$("$caret" get --db "$url" '^slow(3)' 6>&-)" = 1 ]; }
soon there
note $? "what has come is there while more is waited for"
exec 6>&-
wait $loading

# ------------------------------------------------------------------- bench

keep "$caret" bench mix -n 1000 --count 100 -w 2 --mix AF --db "$(pg_url s)?caret_prefix=mixed" && grep -q 'F: read, modify, write' "$dir/out"
note $? "caret bench mix"

finish
