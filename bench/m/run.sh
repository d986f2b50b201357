#!/bin/sh
# Single commands of M on caret-m and on fis-gtm, in turns: sh bench/m/run.sh [PASSES [ROUNDS]]
#
# Prints ns of CPU for each pass, loop included: the median of the rounds for each, and their ratio.  CARET_M is the
# program (build/caret-m), gtm_dist the folder of fis-gtm.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
passes=${1:-2000000}
rounds=${2:-3}
program=$(realpath "${CARET_M:-$here/../../build/caret-m}")
export gtm_dist="${gtm_dist:-/usr/lib/x86_64-linux-gnu/fis-gtm/V7.0-005_x86_64}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$here/micro.m" "$dir/"
cd "$dir"
export gtmroutines=". $gtm_dist/libgtmutil.so" ydb_routines=. CARET_DB="$dir/db" gtmgbldir=g.gld
if [ -x "$gtm_dist/mumps" ]; then
    printf 'change -segment DEFAULT -file=g.dat\nexit\n' | "$gtm_dist/mumps" -run GDE >/dev/null 2>&1
    "$gtm_dist/mupip" create >/dev/null 2>&1
fi
round=0
while [ $round -lt "$rounds" ]; do
    "$program" -run micro "$passes" | sed 's/^/ours /' >>measured
    [ -x "$gtm_dist/mumps" ] && "$gtm_dist/mumps" -run micro "$passes" | sed 's/^/gtm /' >>measured
    round=$((round + 1))
done
awk '
    function median(who, key, k, v, i, j, t) {
        k = n[who, key]
        for (i = 1; i <= k; i++)
            v[i] = value[who, key, i]
        for (i = 1; i <= k; i++)
            for (j = i + 1; j <= k; j++)
                if (v[j] < v[i]) {
                    t = v[i]
                    v[i] = v[j]
                    v[j] = t
                }
        return k > 0 ? v[int((k + 1) / 2)] : 0
    }
    {
        what = $4
        for (f = 5; f <= NF; f++)
            what = what " " $f
        if (!seen[what]++)
            order[++count] = what
        value[$1, what, ++n[$1, what]] = $2 * 1e7 / $3
    }
    END {
        printf "%-32s %9s %9s %7s\n", "ns of CPU", "caret-m", "fis-gtm", "ratio"
        for (o = 1; o <= count; o++) {
            a = median("ours", order[o])
            b = median("gtm", order[o])
            ratio = "-"
            if (b > 0)
                ratio = sprintf("%.2f", a / b)
            printf "%-32s %9.1f %9.1f %7s\n", order[o], a, b, ratio
        }
    }' measured
