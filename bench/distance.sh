#!/bin/sh
# What the distance to a server costs, and what several processes at once make of it: docs/guide/many-machines.md.
#
#   sh bench/distance.sh [BUILD [OPERATIONS]]     in the repository; 2,000 operations of each process on the socket itself
#
# `caret bench mix` on a PostgreSQL of its own that does not wait for the disk, first on its unix socket, then through a
# proxy that delays what is sent in both directions.  Prints the medians of a read and of a transaction (a get and a
# set), and what all processes do in a second: reads alone (C), reads and such transactions half and half (F).

build=${1:-build}
count=${2:-2000}
# shellcheck source=../test/store/postgres.sh
. "$(dirname "$0")/../test/store/postgres.sh"
CARET_BUILD=$build
pg_begin
trap 'pg_end' EXIT
pg_make s 'synchronous_commit = off' && pg_proxy p s || exit 1

# field ROW FIELD: of what the tool printed
field() { sed 's/.*"name":"'"$1"'",\([^}]*\)}.*/\1/; s/.*"'"$2"'":\([0-9.]*\).*/\1/' "$pg_folder/row"; }

n=0
# row WHERE ADDRESS PROCESSES OPERATIONS
row()
{
    n=$((n + 1))
    "$build/caret" bench mix --mix CF -n 1000 --count "$4" -w "$3" --json \
        --db "$2?caret_prefix=m$n&caret_timeout=0" >"$pg_folder/row" 9>&- 8>&- || exit 1
    echo "$1 $3 $(field 'C: read' p50_ns) $(field 'F: read, modify, write' p50_ns) $(field 'C, zipfian' ops_per_second) \
$(field 'F, zipfian' ops_per_second)" |
        awk '{ printf "%-8s %9d %12.0f %12.0f %12.0f %12.0f\n", $1, $2, $3 / 1000, $4 / 1000, $5, $6 }'
}

echo 'network  processes      a read  transaction       reads a  mixed, half a
    ms                  us, median     us, median       second        second'
for processes in 1 4 8 32; do
    row none "$(pg_url s)" $processes $((count / processes + 100))
done
for delay in 0.05 0.5 5; do # 0.1, 1, 10 ms there and back
    pg_tell p "delay $delay"
    for processes in 1 8; do
        row "$(awk "BEGIN { print 2 * $delay }")" "$(pg_url p)" $processes $((count / 10 + 100))
    done
done
