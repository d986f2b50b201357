#!/bin/sh
# Direct mode of `caret m`: lines from standard input, what they print, their errors, BREAK.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret
[ -x "$build/caret-m" ] || { echo "skipped: caret-m is not built" && exit 77; }
cd "$dir" || exit 1
export CARET_DB="$dir/m.caret" CARET_ROUTINES="$dir" HOME="$dir"
tab=$(printf '\t')

# direct what: the lines of the file `in` print `want`, in which > is the prompt
direct()
{
    "$caret" m <in >out 2>&1
    status=$?
    sed 's/^>/YDB>/' want | diff - out >"$dir/err" && [ "$status" = "${2:-0}" ]
    note $? "$1"
}

printf '%s\n' 'w 1' 's x=2' 'w x,!' >in
printf '%s\n' '' '>' 1 '>' '' '>' 2 '' '>' >want
direct "one line after the other, with what was set before"

printf '%s\n' 'w 1/0' 'w 1+' 'w u w 2' 's $et="w 9"' 'w 1/0' 'w $zpos' >in
printf '%s\n' '' '>' '%YDB-E-DIVZERO, Attempt to divide by zero' '' '>' \
    '%YDB-E-RHMISSING, Right-hand side of expression expected' "${tab}w 1+" "$tab    ^-----" '' '>' \
    '%YDB-E-LVUNDEF, Undefined local variable: u' '' '>' '' '>' '%YDB-E-DIVZERO, Attempt to divide by zero' '' '>' \
    '+1^GTM$DMOD' '>' >want
direct "errors of lines are told, without traps"

printf '%s\n' 'r x' 'text' 'w x' >in
printf '%s\n' '' '>' '' '>' 'text' '>' >want
direct "READ takes the next line"

printf '%s\n' 'w 1' 'zhalt 3' 'w 2' >in
printf '%s\n' '' '>' 1 '>' >want
direct "ZHALT ends it with its status" 3

cat >R.m <<'END'
R n a s a=1
 b
 w "after",!
 w 1/0
 w "more",!
 q
END
printf '%s\n' 'd ^R' 'w a' 'zc' 'w a' 'q' 'w $d(a)' >in
printf '%s\n' '' '>' '%YDB-I-BREAK, Break instruction encountered' "$tab${tab}At M source location R+1^R" '' '>' 1 \
    '>' after '%YDB-E-DIVZERO, Attempt to divide by zero' "$tab${tab}At M source location R+3^R" '' '>' 1 '>' '' '>' \
    0 '>' >want
direct "BREAK and an error stop where they are; ZCONTINUE and QUIT"
finish
