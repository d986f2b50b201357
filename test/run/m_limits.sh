#!/bin/sh
# A program of M that grows ends by the error MEMORY, which its trap takes, wherever the limit of address space is
# (ulimit -v): never by a text of Lua's, a signal, or not at all. LuaJIT's machine code can't be refused memory
# (front/mumps/host/reserve.c).
#
# CARET_M_LIMITS: the limits, in MB; CARET_M_GROWTH: labels of test/m/growth.m. test/torture/m_limits.sh has many.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need prlimit
program=$build/caret-m
[ -x "$program" ] || { echo "skipped: caret-m is not built" && exit 77; }
if ldd "$program" | grep -q 'libasan\|libtsan'; then
    echo "skipped: a sanitizer takes terabytes of address space" && exit 77
fi

# How a program ends under a limit of so many MB.
ended() # LABEL MB
{
    rm -f "$dir"/m.caret*
    CARET_DB=$dir/m.caret ydb_routines=$source/test/m timeout $((patience * 4)) \
        prlimit --as=$(($2 * 1000000)) "$program" -run growth "$1" >"$dir/out" 2>&1 </dev/null
    echo "$? $(tr '\n' '|' <"$dir/out")"
}

# Without a trap, as the program had not begun, or with one. A database wants more room than there may be.
for label in ${CARET_M_GROWTH:-texts levels merge lua}; do
    runs=0
    strange=""
    for limit in ${CARET_M_LIMITS:-110 150 180 200 260 300 340}; do
        runs=$((runs + 1))
        how=$(ended "$label" "$limit")
        case $how in
        "0 caught MEMORY|end|" | "0 caught STACKCRIT|end|" | "0 end|") ;;
        "0 caught ZGBLDIRACC|end|" | "0 caught ERRWETRAP|end|") ;;
        [1-9]*" %YDB-F-MEMORY, Central memory exhausted"*) ;;
        *) strange="$strange; $limit MB: $how" ;;
        esac
    done
    [ -z "$strange" ]
    note $? "$label: an error of M's under each of $runs limits$strange"
done
finish
