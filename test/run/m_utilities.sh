#!/bin/sh
# The utilities of M that ask: what they say to the same answers is what those of fis-gtm said (test/m/utilities.out).

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
[ -x "$build/caret-m" ] || { echo "skipped: caret-m is not built" && exit 77; }

cd "$dir" && mkdir m && cd m && mkdir r2 || exit 1
printf 'aa ; hello\n w "xyz",!\n q\n' >aa.m
printf 'bb ; hello\n w "abc",!\n w "xyz xyz"\n q\n' >bb.m
printf 'set s ^ga(1)="xyz",^ga(2)="b",^gb="xyzxyz",^gb("xyz")=3\n q\n' >set.m
cat >call.m <<'END'
call n (%unused) d SILENT^%RSEL("aa:bb") s %ZF="xyz" d CALL^%RSE w "; RSE",! d QCALL^%RSE w "; QRSE",!
 d QUIET n (%unused) s %ZD="list.out" d SILENT^%RSEL("aa:bb") s %ZF="hello" o %ZD:newversion d CALL^%RSE c %ZD d TYPE(%ZD)
 n (%unused) d SILENT^%RSEL("aa") s %ZF="xyz",%ZN="pq" d CALL^%RCE w "; RCE",! d TYPE("aa.m")
 n (%unused) d SILENT^%RSEL("aa") s %ZF="pq",%ZN="xyz",%ZC=1 d CALL^%RCE w !,"; RCE",! d TYPE("aa.m")
 n (%unused) d SILENT^%RSEL("aa:bb") s %ZF="hello",%ZN="hello!",%ZC=1 d QCALL^%RCE w !,"; QRCE",! d TYPE("bb.m")
 n (%unused) d SILENT^%RSEL("aa") s %ZD="ro.out" d CALL^%RO w !,"; RO",! d TYPE(%ZD)
 w $$FUNC^%HD("FFFFFFFFFFFFFFFF")," ",$$FUNC^%OH(123456),! q
QUIET w "; quiet",! q
TYPE(f) n x o f:readonly u f f  r x q:$zeof  u $p w x,! u f
 c f q
END
run() { CARET_DB="$dir/db" ydb_routines=. timeout "$patience" "$build/caret-m" -run "$@"; }

# ask NAME ANSWER...
ask()
{
    name=$1
    shift
    echo "=== $name"
    printf '%s\n' "$@" | run "%$name"
}
run set
{
    ask RSE 'a*' bb '' xyz ''
    ask RSE ''
    ask RSE aa '' ''
    ask RSE aa '' none ''
    ask RCE bb '' xyz pqr y ''
    cat bb.m
    ask RCE bb '' pqr xyz n
    ask GSE '' 'g*' '' xyz ''
    ask GCE 'g*' '' xyz pq y ''
    ask RO aa bb '' out.ro Lab n
    cat out.ro
    ask RO aa '' '' Lab y
    ask RI '' out.ro r2/
    ls r2
    cat r2/*
    ask GC '' ga gc nogl ''
    ask FL aa bb '' ''
    ask FL ''
    run call # those that ask nothing
} >out 2>&1
sed "s#$PWD##; s/YottaDB/GT.M/; s/..:..:..\$/T/; s/[0-9]*-[A-Z]*-[0-9]* T/DATE/; s/ *\$//" out |
    diff "$source/test/m/utilities.out" -
note $? "utilities ask and answer as those of fis-gtm"
finish
