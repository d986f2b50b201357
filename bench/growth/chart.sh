#!/bin/sh
# bench/growth/chart.sh RESULTS >FILE.svg: what a set takes as the database grows, a line for each system, from the
# lines of `growth --json`.  Drawn by gnuplot (Debian: gnuplot-nox).
set -eu
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
sed -n 's/.*"work":"growth","system":"\([^"]*\)".*"nodes":\([0-9]*\),.*"insert_ns":\[\([^]]*\)\].*/\1 \2 \3/p' "$1" |
    while read -r system nodes each; do
        echo "$each" | tr , '\n' | awk -v n="$nodes" '{ print n / 1e7 * NR, $1 / 1000 }' >"$data/$system"
    done
plots=$(for f in "$data"/*; do printf "'%s' with linespoints lw 2 title '%s', " "$f" "$(basename "$f")"; done)
gnuplot -e "
    set terminal svg size 800,440 font 'sans-serif,13' background 'white';
    set xlabel 'million nodes'; set ylabel 'microseconds a set'; set logscale y; set yrange [0.1:];
    set grid lc rgb '#dddddd'; set key outside right; set xrange [0:]; plot ${plots%, }" |
    expand | sed "s/ *$//"
