#!/bin/sh
# What redis-cli prints, line by line: for redis_cli.sh, which compares it.

say() { echo "== $*"; }

say "commands"
redis-cli flushall
redis-cli set a 1
redis-cli --no-raw incr a
redis-cli -3 --no-raw config get 'maxclients'
redis-cli --json hset h x 1 y 2
redis-cli -3 --json hgetall h
redis-cli --csv lrange none 0 -1
redis-cli -e nope
echo "status $?"
redis-cli -n 3 set b 1
redis-cli -x set from-input <"$0"
redis-cli strlen from-input
redis-cli -r 3 incr a

say "from a file, with an error and MULTI"
redis-cli <<'X'
multi
set q "with \"quotes\" \x00 \n"
get q
nope
exec
multi
get a
lpush a 1
exec
client getname
config get maxmemory
eval "return {1, {2, 'x'}, false, redis.status_reply('OK')}" 0
X

say "--pipe"
awk 'BEGIN { for (i = 0; i < 5000; i++) { k = "pipe:" i; printf "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$1\r\nx\r\n", length(k), k } }' |
    redis-cli --pipe
printf 'SET plain 1\r\nNOPE\r\nGET plain\r\n' | redis-cli --pipe
redis-cli dbsize

say "--scan, --bigkeys, --memkeys, --hotkeys"
redis-cli --scan --pattern 'pipe:1?' | sort
redis-cli rpush list 1 2 3
redis-cli zadd zset 1 a 2 b
redis-cli sadd set x
redis-cli --bigkeys | grep -E '^(Biggest|[0-9]+ .* with|Sampled)' | sort
redis-cli --hotkeys 2>&1 | tail -n 1

say "--eval"
echo 'return {KEYS[1], ARGV[1], redis.call("GET", KEYS[1])}' >script.lua
redis-cli --eval script.lua a , argument

say "--stat, --latency-history"
timeout 600 redis-cli --latency-history -i 1 >/dev/null 2>&1 &
latency=$!
: >stat
redis-cli --stat -i 0.1 >stat 2>&1 &
stat=$!
until [ "$(wc -l <stat)" -ge 4 ]; do sleep 0.1; done
kill $stat $latency
head -n 2 stat | tail -n 1 | awk '{ print NF }'

say "MONITOR, SUBSCRIBE"
: >monitor
redis-cli monitor >monitor &
monitor=$!
until grep -q OK monitor; do sleep 0.05; done
redis-cli set seen "a b" >/dev/null
until grep -q seen monitor; do sleep 0.05; done
kill $monitor
sed 's/^[0-9.]* \[0 [0-9.:]*\]/TIME/' monitor | grep -v '"COMMAND"'
: >messages
redis-cli subscribe one two >messages &
subscriber=$!
until [ "$(redis-cli publish one hello)" = 1 ]; do sleep 0.05; done
until grep -q hello messages; do sleep 0.05; done
kill $subscriber
cat messages

say "a terminal: help and hints from COMMAND DOCS"
{
    sleep 1
    printf 'set terminal 1\r'
    sleep 0.5
    printf 'get terminal\r'
    printf 'help @nothing\r'
    printf 'select 2\r'
    printf 'dbsize\r'
    sleep 0.5
    printf 'subscr\t\r'
    sleep 0.5
    printf 'quit\r'
} | TERM=xterm timeout 30 script -qec "stty cols 100 rows 24; redis-cli" /dev/null | tr '\r' '\n' | grep -E '^("1"|OK|\(integer\).*|.*wrong number.*|Reading messages.*)$'
