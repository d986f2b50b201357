#!/bin/sh
# bench/run.sh BUILD [RUNS]: every benchmark; tables, then JSON into BUILD/bench/results.json.
# The two programs of a pair take turns, so that drift of the machine hits both.
set -eu
build=${1:-build}
runs=${2:-5}
here=$(cd "$(dirname "$0")" && pwd)
out=$build/bench/results.json
mkdir -p "$build/bench"
: >"$out"

if [ -x "$build/bench/ops" ]; then
    "$build/bench/ops" -r "$runs" --json >>"$out"
    sed -n 's/.*"work":"\([^"]*\)","caret_ns":\([^,]*\),"lmdb_ns":\([^,]*\),"ratio":\([^,]*\),"bar":\([^}]*\)}/\1: \2 ns, LMDB \3 ns, ratio \4 (bar \5)/p
        s/.*"work":"\([^"]*\)","caret_ns":\([^,]*\),"bar_ns":\([^}]*\)}/\1: \2 ns (bar \3)/p' "$out"
    "$build/bench/walks" -r "$runs" --json >"$build/bench/walks.json"
    cat "$build/bench/walks.json" >>"$out"
    sed -n 's/.*"work":"\([^"]*\)","caret_ns":\([^,]*\),"lmdb_ns":\([^,]*\),"ratio":\([^,]*\),"bar":\([^}]*\)}/\1: \2 ns, LMDB \3 ns, ratio \4 (bar \5)/p' "$build/bench/walks.json"
    rm -f "$build/bench/walks.json"
else
    echo "the C operations are not built: liblmdb is missing"
fi

"$build/bench/subtrees" -r "$runs"
"$build/bench/subtrees" -r "$runs" --json >>"$out"
"$build/bench/calls" -r "$runs"
"$build/bench/calls" -r "$runs" --json >>"$out"
"$build/bench/misses" -r "$runs" # what a look-up waits for: docs/memory.md
"$build/bench/misses" -r "$runs" --json >>"$out"
"$build/bench/yottadb" -r "$runs" --json >"$build/bench/yottadb.json"
cat "$build/bench/yottadb.json" >>"$out"
sed -n 's/.*"work":"\(yottadb [^"]*\)","a":\([^,]*\),"b":\([^,]*\),"ratio":\([^,]*\),"bar":\([^}]*\)}/\1: \2 beside \3, ratio \4 (bar \5)/p
    s/.*"work":"\(yottadb [^"]*\)","ns":\([^,]*\),"bar_ns":\([^}]*\)}/\1: \2 ns (bar \3)/p' "$build/bench/yottadb.json"
rm -f "$build/bench/yottadb.json"

# median of the numbers on standard input
median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
seconds() { sed 's/.*"seconds":\([0-9.]*\).*/\1/'; }

tables='' one='' four=''
i=0
while [ $i -lt "$runs" ]; do
    tables="$tables $(lua5.4 "$here/../bench/3n1/rivals/tables.lua" | seconds)"
    one="$one $("$build/caret" 3n1 -w 1 --json | seconds)"
    four="$four $("$build/caret" 3n1 -w 4 --json | seconds)"
    i=$((i + 1))
done
# shellcheck disable=SC2086
t=$(printf '%s\n' $tables | median) a=$(printf '%s\n' $one | median) b=$(printf '%s\n' $four | median)
awk -v t="$t" -v a="$a" -v b="$b" 'BEGIN {
    printf "3n+1 to 100000: plain tables %.3f s; Caret 1 process %.3f s (%.1f times, bar 5), 4 processes %.3f s (%.2f of 1, bar 0.7)\n", t, a, a / t, b, b / a }'
printf '{"work":"3n1","tables_s":%s,"one_s":%s,"four_s":%s}\n' "$t" "$a" "$b" >>"$out"

if command -v luajit >/dev/null; then
    jit='' jit_tables='' i=0
    while [ $i -lt "$runs" ]; do
        jit_tables="$jit_tables $(sed 's,n // 2,n / 2,' "$here/../bench/3n1/rivals/tables.lua" | luajit - | seconds)"
        jit="$jit $("$build/caret" 3n1 --lua luajit --json | seconds)"
        i=$((i + 1))
    done
    # shellcheck disable=SC2086
    t=$(printf '%s\n' $jit_tables | median) a=$(printf '%s\n' $jit | median)
    awk -v t="$t" -v a="$a" 'BEGIN {
        printf "3n+1 to 100000, LuaJIT: plain tables %.4f s; Caret 1 process %.3f s (%.1f times, bar 7)\n", t, a, a / t }'
    printf '{"work":"3n1 luajit","tables_s":%s,"one_s":%s}\n' "$t" "$a" >>"$out"
fi

for lua in lua5.4 luajit; do
    if command -v $lua >/dev/null; then
        echo "node objects, $lua:"
        CARET_BUILD=$build sh "$here/../tools/lua.sh" $lua "$here/nodes.lua"
        CARET_BUILD=$build sh "$here/../tools/lua.sh" $lua "$here/nodes.lua" --json >>"$out"
        echo "caches, $lua:"
        CARET_BUILD=$build sh "$here/../tools/lua.sh" $lua "$here/cache.lua"
        CARET_BUILD=$build sh "$here/../tools/lua.sh" $lua "$here/cache.lua" --json >>"$out"
    else
        echo "$lua is not there: node objects are not measured with it"
    fi
done

# lua_shared_dict, beside caches in the same process
CARET_BUILD=$build sh "$here/cache.sh" && CARET_BUILD=$build sh "$here/cache.sh" --json 2>/dev/null >>"$out"

"$build/bench/sync" -d "$build/bench" -r 3 --json >>"$out"
sed -n 's/.*"work":"group commit","one_per_s":\([^,]*\),"eight_per_s":\([^,]*\),"gain":\([^,]*\),.*/sync commit: one process \1 a second, eight \2: \3 times (bar 4)/p
    s/.*"work":"bytes of a commit","bytes":\([^,]*\),.*/bytes written for a small commit: \1 (bar 8192)/p
    s/.*"work":"interval",.*"ratio":\([^,]*\),.*/a set with sync interval: \1 of one with off (bar 1.15)/p' "$out"

"$build/bench/wake" -r "$runs" --json >"$build/bench/wake.json"
cat "$build/bench/wake.json" >>"$out"
sed -n 's/.*"work":"wake-up","us":\([^,]*\),"hand_over_us":\([^,]*\),.*/wake-up of a process that waits for a change: \1 us, hand-over \2 us (bar 100)/p
    s/.*"work":"asleep","cpu_ms_per_s":\([^}]*\)}/a waiter takes \1 ms of a processor a second/p
    s/.*"alone_ns":\([^,]*\),"for_another_ns":\([^,]*\),"for_it_ns":\([^}]*\)}/a set: \1 ns, \2 while somebody waits for another node, \3 for it/p' "$build/bench/wake.json"
rm -f "$build/bench/wake.json"

"$build/bench/checkpoint" -d "$build/bench" --json >"$build/bench/checkpoint.json"
cat "$build/bench/checkpoint.json" >>"$out"
sed -n 's/.*"work":"checkpoint writes","pages":\([^,]*\),.*"ratio":\([^,]*\),"ratio_disk":\([^,]*\),.*/a checkpoint of \1 pages writes \2 times as many, the disk \3 (bar 1.2)/p
    s/.*"work":"\([^"]*\)","times":\([^,]*\),"median_ms":\([^,]*\),"max_ms":\([^,]*\),.*"waited":\([^,]*\),"preempted":\([^,]*\),.*/\1: the longest set over each of \2: median \3 ms (bar 1), maximum \4 ms (bar 20); waited \5 of the time (bar 0.01), \6 without the processor/p
    s/.*"work":"\([^"]*\)","log_mib":\([^,]*\),"median_s":\([^,]*\),"max_s":\([^,]*\),"bar_s":\([^}]*\)}/\1 after the death of all, a log of \2 MiB: \3 s, at most \4 s (bar \5)/p' "$build/bench/checkpoint.json"
rm -f "$build/bench/checkpoint.json"

# bytes of Lua memory for each call, of those that should take none
CARET_BUILD=$build sh "$here/../tools/lua.sh" lua5.4 "$here/garbage.lua" --json >"$build/bench/garbage.json"
cat "$build/bench/garbage.json" >>"$out"
awk -F '"bytes":' '/"makes":""/ { n++; if ($2 + 0 >= 1) bad++ }
    END { printf "calls from Lua that should allocate nothing: %d, of them allocate: %d (bar 0)\n", n, bad }' "$build/bench/garbage.json"
rm -f "$build/bench/garbage.json"
