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

cat >W.m <<'END'
W w "in" s x=1/0
 q
END
printf '%s\n' 'w $t' 'n a,$et s a=5 w a,u' 'w $d(a)' 's $et="w ""trap"",!"' 'd ^W' 'b' >in
printf '%s\n' '' '>' 1 '>' '5' '%YDB-E-LVUNDEF, Undefined local variable: u' '' '>' 1 '>' '' '>' 'intrap' \
    '%YDB-E-DIVZERO, Attempt to divide by zero' '' '>' '%YDB-I-BREAK, Break instruction encountered' \
    "$tab${tab}At M source location +1^GTM\$DMOD" '' '>' >want
direct "\$TEST begins as 1, NEW stays, an error is on a line of its own, without a place after a trap"

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
printf '%s\n' 'd ^R' 'w a' 'q' 'zc' 'w a' 'zsh "s"' 'q' 'zsh "s"' 'zc' 'zg 1' 'w $d(a)' >in
printf '%s\n' '' '>' '%YDB-I-BREAK, Break instruction encountered' "$tab${tab}At M source location R+1^R" '' '>' 1 \
    '>' '' '>' after '%YDB-E-DIVZERO, Attempt to divide by zero' "$tab${tab}At M source location R+3^R" '' '>' 1 \
    '>' 'R+3^R    ($ZTRAP)' '    (Direct mode) ' '+1^GTM$DMOD    (Direct mode) ' '' '>' '' '>' \
    'R+3^R    (Direct mode) ' '+1^GTM$DMOD    (Direct mode) ' '' \
    '>' '%YDB-E-DIVZERO, Attempt to divide by zero' "$tab${tab}At M source location R+3^R" '' '>' '' '>' 0 '>' >want
direct "BREAK and an error stop where they are; QUIT ends the line that was entered, ZCONTINUE tries again"

cat >V.m <<'END'
V() s z=u
 q 1
X x "s z=u w 55" w "on",!
 q
END
printf '%s\n' 's $ec=",U1,"' 'w $ec' 's a=$$^V' 's b=1/0' 'q 7' 'w a' 'q 5' 'd X^V' 's u=1' 'zc' \
    'x "s z=v"' 'w $zs' >in
error='%YDB-E-LVUNDEF, Undefined local variable'
unwanted='%YDB-E-NOTEXTRINSIC, QUIT/ZHALT does not return to an extrinsic function: argument not allowed'
at() { printf '%s\n' "$tab${tab}At M source location $1" '' '>'; }
{
    printf '%s\n' '' '>' '%YDB-E-SETECODE, Non-empty value assigned to $ECODE (user-defined error trap)' '' '>' ,U1, \
        '>' "$error: u"
    at V^V
    printf '%s\n' '%YDB-E-DIVZERO, Attempt to divide by zero' '' '>' '' '>' 7 '>' "$unwanted" && at '+1^GTM$DMOD'
    printf '%s\n' "$error: u" && at X^V
    printf '%s\n' '' '>' 55on '' '>' "$error: v"
    at '+1^GTM$DMOD'
    printf '%s\n' "150373850,+1^GTM\$DMOD,$error: v" '>'
} >want
direct "QUIT with a value leaves an extrinsic; \$ECODE can be set; an XECUTE is told by its place"

printf '%s\n' 'w 1/0' 'w $st(0,"ECODE")' 'q 7' 'w $ec,$st(0,"ECODE")' 's $ec=""' 'w $ec,$st(0,"ECODE")' >in
{
    printf '%s\n' '' '>' '%YDB-E-DIVZERO, Attempt to divide by zero' '' '>' '' '>' "$unwanted" && at '+1^GTM$DMOD'
    printf '%s\n' ,M16,Z150374450,,M16,Z150374450, '>' '' '>' '' '>'
} >want
direct "a wrong QUIT at the prompt is in \$ECODE and \$STACK"

printf '%s\n' 's $et=""' 'd X^V' 'w $st,$st(-1),$st(1,"PLACE"),$p($zs,",",2)' 's $et="",$ec="" n $et' 'd X^V' 'w $st' >in
printf '%s\n' '' '>' '' '>' "$error: u" '' '>' '01X^VX^V' '>' '' '>' "$error: u" '' '>' 0 '>' >want
direct "without any trap an error leads back to the prompt, and is told without its place"

printf '%s\n' 's $et="zgoto 0"' 's a=$$^V' >in
printf '%s\n' '' '>' '' '>' >want
direct "the status of an error whose trap leaves by ZGOTO 0" 218
printf '%s\n' 's a=$$^V' 'zgoto 0:X^V' 'w 1' >in
printf '%s\n' '' '>' "$error: u" "$tab${tab}At M source location V^V" '' '>' "$error: u" \
    "$tab${tab}At M source location X^V" '' '>' 1 '>' >want
direct "ZGOTO to level 0 leaves the prompts"
for want in 'x 90' 'y 0' 'z 90'; do
    cat >E.m <<'END'
x s $et="s $ec=""""",x=1/0
 q
y s $et="s $ec="""" q",x=1/0
 q
z s $et="s $ec="""" d y",x=1/0
 q
END
    "$caret" m -run "${want% *}^E" >out 2>&1
    [ $? = "${want#* }" ] && ! [ -s out ]
    note $? "the status of a program that a trap ended: $want"
done

cat >T.m <<'END'
T b "s z=1 w ""in break"",!"
 w "b",!
 b:0 "w ""never"",!"
 b ""
 w "c",z,!
 q
END
printf '%s\n' 'd ^T' 'w z' 'zc' 'zc' >in
printf '%s\n' '' '>' 'in break' '%YDB-I-BREAK, Break instruction encountered' "$tab${tab}At M source location T^T" '' \
    '>' 1 '>' b '%YDB-I-BREAK, Break instruction encountered' "$tab${tab}At M source location T+3^T" '' '>' c1 '' \
    '>' >want
direct "BREAK runs its argument, and then stops"

cat >S.m <<'END'
S s a=1
 d sub
 f i=1:1:2 d sub
 q
sub w "sub",!
 s b=$$f(2)
 q
f(x) q x*2
END
# stopped place kind: what is said when a program stops
stopped() { printf '%%YDB-I-BREAKZ%s, Break instruction encountered during Z%s action\n%s\n\n>\n' \
    "$2" "$3" "$tab${tab}At M source location $1"; }
printf '%s\n' 'zb sub+1^S' 'd ^S' 'zst into' 'zst over' 'zst outof' 'zc' 'zst' 'zsh "s"' 'zb -sub+1^S' 'zc' >in
{
    printf '%s\n' '' '>' '' '>' sub
    stopped sub+1^S BA BREAK
    stopped f^S ST STEP
    stopped sub+2^S ST STEP
    stopped S+2^S ST STEP
    echo sub
    stopped sub+1^S BA BREAK
    stopped sub+2^S ST STEP
    printf '%s\n' sub+2^S '    (Direct mode) ' S+2^S '+1^GTM$DMOD    (Direct mode) '
    printf '%s\n' '' '>' '' '>' sub '' '>'
} >want
direct "ZBREAK and ZSTEP"
cat >idle.m <<'END'
idle ; nothing runs here
 ; nor here

 s a=1
 d
 . ; nor here
 . s b=1
END
printf '%s\n' 'zb idle^idle,idle+5^idle' 'd ^idle' 'zc' 'zb -idle+1^idle' 'zc' 'd ^idle' 'zc' >in
{
    printf '%s\n' '' '>' '' '>'
    stopped idle+3^idle BA BREAK
    stopped idle+6^idle BA BREAK
    printf '%s\n' '' '>' '' '>'
    stopped idle+6^idle BA BREAK
    printf '%s\n' '' '>'
} >want
direct "a breakpoint of a line without code"
printf '%s\n' 'zb sub^S:"w b":2' 's b="b"' 'd ^S' 'zb -*' 'zb none^S' >in
printf '%s\n' '' '>' '' '>' '' '>' sub 4sub 4sub '' '>' '' '>' '%YDB-E-NOPLACE, Line specified in a ZBREAK cannot be found' \
    '' '>' >want
direct "an action of a breakpoint, from the second time on"

"$caret" m -trace -run ^S >out 2>err
[ $? = 0 ] && [ "$(grep -c sub+1^S err)" = 3 ] && [ "$(head -n 1 err)" = "S^S${tab}S s a=1" ] && [ "$(wc -l <out)" = 3 ]
note $? "-trace tells each line"
printf ' w never\n q\n' >>S.m
"$caret" m -cover -run sub^S >out 2>err
[ "$(cat out)" = sub ] && grep -qx 'S  *4 of  *10 lines  *40 %' err && grep -qx ' *9   w never' err
note $? "-cover tells the lines that did not run"


cat >I.m <<'END'
I s $zint="s x=$g(x)+1,y=$zininterrupt w:$zsigproc($j,""SIGUSR1"")'=0 ""no"""
 i $zsigproc($j,"SIGUSR1")
 w $g(x),$g(y),$zininterrupt,!
 s $zint="w:$increment(z)>3 ""often"" s a=1/0",$et="w $ecode,! s $ec="""" zgoto 1:I+6^I"
 i $zsigproc($j,"SIGUSR1")
 q
 w "end",!
 q
END
"$caret" m -run ^I >out 2>err
[ $? = 0 ] && printf '110\n,M9,Z150373210,\nend\n' | cmp - out
note $? "SIGUSR1 has \$ZINTERRUPT run, once at a time, and its errors are the program's"

cat >G.m <<'END'
G s x=$g(x)+1
 g G
sub s x=$g(x)+1
 q
wait s $zint="s done=1"
 w "on",!
 f  q:$d(done)
 w "end",!
 q
END
# seen text file: wait until it is there, while `pid` lives
seen() { while ! grep -q "$1" "$2" && kill -0 "$pid" 2>/dev/null; do sleep 0.02; done; }

mkfifo pipe told # what goes to a pipe is there at once, in a file at the end
cat <told >out &
copy=$!
"$build/caret-m" -run wait^G >told 2>&1 &
pid=$!
seen on out
kill -USR1 $pid
wait $pid
status=$?
wait $copy
[ $status = 0 ] && printf 'on\nend\n' | cmp - out
note $? "a loop that is machine code notices SIGUSR1"

# SIGTERM ends loops of machine code and waits, as HALT does; $ETRAP does not see it
for wait in 'f  s x=$g(x)+1' 'h 1000'; do
    printf 'T w "on",! s $et="w ""trap""" %s\n' "$wait" >T.m
    : >out
    cat <told >out &
    copy=$!
    "$build/caret-m" -run ^T >told 2>&1 &
    pid=$!
    seen on out
    kill -TERM $pid
    wait $pid
    status=$?
    wait $copy
    [ $status = 241 ] && printf 'on\n%%YDB-F-FORCEDHALT, Image HALTed by MUPIP STOP\n' | cmp - out
    note $? "SIGTERM in: $wait"
done
: >out

# CARET_M_STOP: SIGINT ends the line, the variables stay; one more ends what does not notice it
cat <told >out &
CARET_M_STOP=1 "$build/caret-m" <pipe >told 2>&1 &
pid=$!
exec 3>pipe
echo 's y=5' >&3
n=0
for loop in 'f  s x=$g(x)+1' 'f i=1:1 s x=i' 'f i=1:1:1E15 s x=i' 'd ^G' 'x "f  d sub^G"' 'h 1000'; do
    n=$((n + 1))
    printf 'w "o","n%s",! %s\n' $n "$loop" >&3
    seen "on$n" out
    kill -INT $pid
    printf 'w "a","fter%s",! \n' $n >&3
    seen "after$n" out
done
echo 'w "y is ",y,!' >&3
seen 'y is 5' out
told=$(grep -c CTRLC out) # the first of these may end what is left of the line, and be told, too
while kill -INT $pid 2>/dev/null; do sleep 0.02; done
exec 3>&-
wait $pid
[ $? = 130 ] && [ "$told" = 6 ]
note $? "CARET_M_STOP: SIGINT ends the line"

cat >T.m <<'END'
T s $et="w ""trapped "",$p($p($zs,""-"",3),"",""),! s $ec="""" q" u $p:(ctrap=$c(3))
 q
hang d T w "on",! h 1000
 q
read d T w "on",! r x
 q
loop d T w "on",! f  s x=$g(x)+1
 q
END
cat >C.m <<'END'
C
read w "on",! r x w "got ",x,".",!
 q
deaf u $p:(nocenable) w "on",! r x w "got ",x,".",!
 q
END
if command -v python3 >/dev/null; then
    keep env CARET_PATIENCE="$patience" python3 "$source/test/m/ctrl_c.py" "$build/caret-m" "$dir"
    note $? "Ctrl-C stops loops and waits, ZCONTINUE goes on"
    keep env CARET_PATIENCE="$patience" python3 "$source/test/m/edit.py" "$build/caret-m" "$dir"
    note $? "keys edit what a READ with EDITING reads"
    keep env CARET_PATIENCE="$patience" python3 "$source/test/m/typed.py" "$build/caret-m" "$dir"
    note $? "a READ at a terminal takes characters of UTF-8"
else
    skip "python3 is not installed: Ctrl-C on a terminal"
    skip "python3 is not installed: EDITING at a terminal"
    skip "python3 is not installed: UTF-8 at a terminal"
fi
# The status of a program, as fis-gtm has it: of an error that a trap left, its number's last byte; of an error in
# the trap's own text that of the first one.
cat >E.m <<'END'
E zhalt 512
a s $et="w 1/0" w undef
b s $et="q" w undef
c s $et="zg 0" w undef
d s $zt="w 1/0" w undef
e s $et="d e1" w undef
e1 w 1/0
f s $et="q:$es  w 1/0" d f1
 q
f1 w undef
g s $et="zhalt 3" w undef
h zg 0
END
for case in E:255 a:218 b:218 c:218 d:218 e:90 f:218 g:3 h:0; do
    "$caret" m -run "${case%:*}^E" </dev/null >out 2>&1
    [ "$?:$(cat out)" = "${case#*:}:" ]
    note $? "the status of $case"
done
printf 'N s $et="" d n\n q\nn w undef\n' >N.m
"$caret" m -run ^N </dev/null >out 2>&1
[ $? = 218 ] && grep -q LVUNDEF out
note $? "SET \$ETRAP=\"\": the status is of the error"
finish
