#!/bin/sh
# A pattern for which there is no memory is M's error MEMORY at its line, and the program goes on: with each of the
# allocations that a match makes refused once.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need cc
program=$build/caret-m
[ -x "$program" ] || { echo "skipped: caret-m is not built" && exit 77; }
if ldd "$program" | grep -q 'libasan\|libtsan'; then
    echo "skipped: a sanitizer has the allocator" && exit 77
fi

# calloc() of 16 to 300 bytes, the sizes of this match, fails once: call REFUSED from 0 on.
cat >"$dir/refuse.c" <<'PROGRAM'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

void *calloc(size_t n, size_t size)
{
    static void *(*real)(size_t, size_t);
    static char early[4096]; /* for dlsym() itself */
    static size_t used;
    static long left = -1;
    if (real == NULL) {
        static int asked;
        if (asked)
            return early + (used += (n * size + 15) & ~(size_t)15) - ((n * size + 15) & ~(size_t)15);
        asked = 1;
        *(void **)&real = dlsym(RTLD_NEXT, "calloc");
        left = atol(getenv("REFUSED"));
    }
    if (n == 1 && size >= 16 && size < 300 && left >= 0 && left-- == 0)
        return NULL;
    return real(n, size);
}
PROGRAM
cc -shared -fPIC -o "$dir/refuse.so" "$dir/refuse.c" -ldl || exit 1
cat >"$dir/match.m" <<'PROGRAM'
match s $et="w ""error "",$p($p($zs,"","",3),""-"",3) s $ec="""" q"
 d one
 w " then ",x?.(.A,1"b".E)."c",!
 q
one s x="a  abc" w x?.(.A,1"b".E)1"bc"," ",x?.e1"bc".e1(1"c",1"d")
 q
PROGRAM
ended() # N: what the program prints when call N is refused
{
    (cd "$dir" && REFUSED=$1 LD_PRELOAD="$dir/refuse.so" CARET_DB="$dir/m.caret" ydb_routines=. "$program" -run match) 2>&1 | tail -n 1
}

whole=$(ended 1000)
[ "$whole" = "0 0 then 0" ]
note $? "with memory the program runs: $whole"
refused=0 strange=
for call in 0 3 6 9 12 15 18 21 24 27 30 33 36 39 42 45; do
    text=$(ended $call)
    case $text in
    *MEMORY*) refused=$((refused + 1)) ;;
    "$whole") ;;
    *) strange="$strange; $call: $text" ;;
    esac
done
[ $refused -ge 8 ]
note $? "allocations that are refused are MEMORY ($refused of 16)"
[ -z "$strange" ]
note $? "and nothing else${strange}"
finish
