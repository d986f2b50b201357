#!/bin/sh
# shellcheck disable=SC2016 # $C() is text here
# caret dump and caret load: each format to the byte, random trees there and back, files of M databases, bad lines,
# closed pipes and full disks, signals in the middle.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret
cd "$dir" || exit 1

# try status arguments...: runs the tool, out and err kept
try()
{
    want=$1
    shift
    timeout "$patience" "$caret" "$@" >out 2>err </dev/null
    status=$?
    [ "$status" = "$want" ]
    note $? "caret $*: status $status, not $want"
}

# says text: standard error has it
says() { grep -qF -- "$1" err; note $? "says: $1"; }

# same a.zwr b.zwr: but for the header
same()
{
    tail -n +3 "$1" >same.1
    tail -n +3 "$2" >same.2
    cmp same.1 same.2 >out 2>err
}

# ------------------------------------------------------------ formats to the byte

cat >golden.lua <<'END'
local n = db.node
n("^a").__ = ""
n("^a", 1).__ = "10"
n("^a", 1, "shadow").__ = "10.50"
n("^a", "01").__ = "01"
n("^a", "").__ = "empty\n"
n("^a", "__").__ = "under"
n("^a", "é\"").__ = "ü\255\128\0\"\\"
n("^a", -2.5).__ = " -2.5"
n("^b", 123456789012345678).__ = "123456789012345678"
n("^b", "x,y", 'q"').__ = "a,b\r\n"
END
try 0 run --db golden.caret golden.lua

cat >golden.zwr <<'END'
^a=""
^a("")="empty"_$C(10)
^a(-2.5)=" -2.5"
^a(1)="10"
^a(1,"shadow")="10.50"
^a("01")="01"
^a("__")="under"
^a("é""")="ü"_$ZCH(255,128)_$C(0)_"""\"
^b(123456789012345678)="123456789012345678"
^b("x,y","q""")="a,b"_$C(13,10)
END
cat >golden.jsonl <<'END'
{"node":["^a"],"value":""}
{"node":["^a",""],"value":"empty\n"}
{"node":["^a","-2.5"],"value":" -2.5"}
{"node":["^a",1],"value":10}
{"node":["^a",1,"shadow"],"value":"10.50"}
{"node":["^a","01"],"value":"01"}
{"node":["^a","__"],"value":"under"}
{"node":["^a","é\""],"value":"ü\udcff\udc80\u0000\"\\"}
{"node":["^b","123456789012345678"],"value":"123456789012345678"}
{"node":["^b","x,y","q\""],"value":"a,b\r\n"}
END
cat >golden.json <<'END'
{
 "^a": {
  "__": "",
  "": "empty\n",
  "-2.5": " -2.5",
  "1": {
   "__": 10,
   "shadow": "10.50"
  },
  "01": "01",
  "___": "under",
  "é\"": "ü\udcff\udc80\u0000\"\\"
 },
 "^b": {
  "123456789012345678": "123456789012345678",
  "x,y": {
   "q\"": "a,b\r\n"
  }
 }
}
END
printf '%s\n' 'global,sub1,sub2,value' '^a,,,' '^a,"",,"empty' '",' >golden.csv # the comma of the last line goes
printf '^a,-2.5,," -2.5"\n^a,1,,10\n^a,1,shadow,10.50\n^a,01,,01\n^a,__,,under\n^a,"é""",,"ü\377\200\000""\\"\n' >rest.csv
printf '^b,123456789012345678,,123456789012345678\n^b,"x,y","q""","a,b\r\n"\n' >>rest.csv
{ printf 'global,sub1,sub2,value\n^a,,,\n^a,"",,"empty\n"\n' && cat rest.csv; } >golden.csv

for format in zwr jsonl json csv; do
    try 0 dump --db golden.caret --format $format
    if [ $format = zwr ]; then
        sed -n 1p out | grep -q '^Caret .* dump UTF-8$' && sed -n 2p out | grep -q '^..-[A-Z]*-20..  ..:..:.. ZWR$'
        note $? "the header of zwr"
        tail -n +3 out >body && mv body out
    fi
    cmp out golden.$format
    note $? "$format is exactly that"
    rm -f new.caret*
    try 0 load --db new.caret golden.$format
    try 0 dump --db new.caret
    tail -n +3 out >body
    cmp body golden.zwr
    note $? "$format comes back"
done
try 0 dump --db golden.caret -o bytes.zwr --bytes
grep -q '_$C(255,128,0)_' bytes.zwr && ! head -n 1 bytes.zwr | grep -q UTF-8
note $? "--bytes is the byte form"
rm -f new.caret*
try 0 load --db new.caret bytes.zwr
try 0 dump --db new.caret --bytes -o again.zwr
same bytes.zwr again.zwr
note $? "which comes back too"

# parts
try 0 dump --db golden.caret -f jsonl '^b' '^a(1)' '^a(1,"shadow")' '^none'
[ "$(cut -d '"' -f 4 out | tr '\n' ' ')" = '^a ^a ^b ^b ' ]
note $? "parts come in order, each once"
try 0 dump --db golden.caret -f json '^none'
[ "$(cat out)" = "{
}" ]
note $? "nothing is an empty object"
try 2 dump --db golden.caret '^a('
try 2 dump --db golden.caret -f xml
try 2 load --db golden.caret -f xml golden.zwr
try 3 dump --db none.caret
try 0 dump --db golden.caret --readonly
try 3 dump --db golden.caret -o golden.zwr
says 'is there already'
try 3 dump --db golden.caret -o none/golden.zwr
says ' none/golden.zwr: No such file'
try 0 dump --db golden.caret -o golden.copy
try 0 dump --db golden.caret -o golden.copy --overwrite
cp golden.copy golden.first
try 3 dump --db golden.caret -o golden.caret --overwrite
says 'is the database itself'
try 3 dump --db golden.caret -o . --overwrite
says 'is a folder'
ln -s golden.copy golden.link
try 0 dump --db golden.caret -o golden.link --overwrite
[ -L golden.link ] && [ ! -L golden.copy ] && same golden.first golden.link
note $? "what a link leads to is replaced"
mkfifo golden.pipe
"$caret" dump --db golden.caret -o golden.pipe --overwrite 2>err &
cat golden.pipe >golden.copy
wait $! && [ -p golden.pipe ] && same golden.first golden.copy
note $? "a pipe is written to, not replaced"
try 3 dump --db golden.caret -o /dev/full --overwrite
says '/dev/full: No space left on device'
[ -c /dev/full ]
note $? "and so is a device"
"$caret" dump --db golden.caret -o /dev/stdout 2>err | cat >golden.copy
same golden.first golden.copy
note $? "also /dev/stdout"
! ls ./*partial* 2>/dev/null
note $? "no half of a file is left"

# -------------------------------------------------- random trees, there and back

cat >random.lua <<'END'
math.randomseed(tonumber(arg[1]))
local random, char = math.random, string.char
local pieces = {"", "0", "1", "-1", ".5", "0.5", "01", "1E5", "é", "_", "__", "___", "\0", "\255", "\237\160\128", "\"",
    "\\", ",", "\n", "\r", "\r\n", " ", "=", ")", "$C(1)", "123456789012345678", "true", "null", "a", "{", "\127", "\194\133"}
local function text()
    if random(20) == 1 then
        local t = {}
        for i = 1, random(0, 3000) do t[i] = char(random(0, 255)) end
        return table.concat(t)
    end
    local t = {}
    for i = 1, random(0, 3) do t[i] = pieces[random(#pieces)] end
    return table.concat(t)
end
local function subscript() return random(3) == 1 and random(-50, 50) or text():sub(1, 30) end
for _ = 1, 1500 do
    local node = db.node("^" .. pieces[29]:rep(random(3)))
    for _ = 1, random(0, random(8)) do node = node(subscript()) end
    node.__ = text()
end
END
for seed in 1 2 3; do
    rm -f random.caret* random.zwr
    try 0 run --db random.caret random.lua $seed
    try 0 dump --db random.caret -o random.zwr
    for format in zwr jsonl json csv; do
        rm -f new.caret* new.zwr
        "$caret" dump --db random.caret -f $format 2>err | "$caret" load --db new.caret --quiet >out 2>>err
        "$caret" dump --db new.caret -o new.zwr 2>>err
        same random.zwr new.zwr
        note $? "random tree $seed comes back through $format"
    done
done
head -c 16777216 /dev/urandom | "$caret" set --raw --db long.caret '^long' -
"$caret" dump --db long.caret -o long.zwr
for format in zwr jsonl json csv; do
    rm -f new.caret* new.zwr
    "$caret" dump --db long.caret -f $format 2>err | "$caret" load --db new.caret --quiet >out 2>>err
    "$caret" dump --db new.caret -o new.zwr 2>>err
    same long.zwr new.zwr
    note $? "the longest value comes back through $format"
done
rm -f long.* new.zwr

# --------------------------------------------------------------- what others wrote

cat >gtm.zwr <<'END'
GT.M MUPIP EXTRACT
01-JAN-2020  00:00:00 ZWR
^x="1"
^x("a",1)="caf"_$C(133)_$ZCH(233)
END
rm -f new.caret*
try 0 load --db new.caret gtm.zwr
try 0 dump --db new.caret --bytes
grep -q '="caf"_$C(133)_"'"$(printf '\351')"'"$' out
note $? "the extract of an M database in bytes"
sed '1s/$/ UTF-8/; s/^\(\^x("a",1)=\).*/\1"café"_$C(133)_$ZCH(233)/; s/$/\r/' gtm.zwr >ydb.zwr
rm -f new.caret*
try 0 load --db new.caret ydb.zwr
try 0 dump --db new.caret
grep -q '="café"_$C(133)_$ZCH(233)$' out
note $? "and in UTF-8, with CR LF"
printf '\n^x=5\n\n^y( "a")=1\n' >bare.zwr
rm -f new.caret*
try 1 load --db new.caret --keep-going bare.zwr
says 'bare.zwr:4: SYNTAX'
printf '\357\273\277{ "value": 1.50, "node" : [ "^n", 1e2, "\\u00e9\\ud83d\\ude00" ] }\n' >loose.jsonl
try 0 load --db new.caret loose.jsonl
try 0 get --db new.caret '^n(100,"é😀")'
[ "$(cat out)" = 1.5 ]
note $? "numbers become canonical, escapes characters"
echo '{"^doc": {"list": [true, null, -0, 0.5, [7]], "x": {}}}' >doc.json
try 0 load --db new.caret doc.json
try 0 tree --db new.caret '^doc'
[ "$(cat out)" = '^doc("list",1)="true"
^doc("list",2)="null"
^doc("list",3)="0"
^doc("list",4)=".5"
^doc("list",5,1)="7"' ]
note $? "any nested JSON below globals"

# ------------------------------------------------------------------------ bad input

# bad text reason: one line, which is refused for that
bad()
{
    # shellcheck disable=SC2059 # escapes are wanted
    printf "$1" >bad
    try 1 load --check bad
    says "$2"
    [ "$(wc -l <err)" = 1 ]
    note $? "in one line: $1"
}
bad '^a\n' 'bad:1: a line is NODE=VALUE'
bad '^a=\n' 'here is no value'
bad '^a=1\n\n^b(=2\n' 'bad:3: SYNTAX'
bad '^a("x=1' 'bad:1:'
bad '^a="x\n' 'a closing " is missing'
bad '^1=1\n' 'NAME'
bad '{"node":["a"],"value":1}\n' 'begins with ^'
bad '{"node":["^a"],"value":1} x\n' 'column 27: nothing was expected'
bad '{"node":["^a"]}\n' 'there is no value'
bad '{"node":["^a"],"value":1,"value":2}\n' 'each once'
bad '{"node":["^a"],"value":"\\ud800"}\n' 'half of a surrogate pair'
bad '{"node":["^a"],"value":01}\n' 'column 24: neither a string, a number'
bad '{"node":["^a"],"value":1234567890123456789}\n' 'over 18 digits'
bad '{"node":["^a"],"value":1e99}\n' 'below 1E47'
bad '{"^a":\n {"x": nope}}' 'bad:2: column 8: neither a string'
bad '{"^a": [1,2}' "']' is missing"
bad '{"a": 1}' 'bad:1: a global begins with ^'
bad '{"^a": 1,\n "a": 1}' 'bad:2: a global begins with ^'
bad '{"^a": {"__": {}}}' 'column 15: neither a string'
bad '{"node":["^a",[]],"value":1}\n' 'column 15: neither a string'
bad 'global,value\n^a,1,2\n' 'bad:2: 3 fields, where the first line has 2'
bad 'global,sub1,sub2,value\n^a,,x,1\n' 'bad:2: field 3 is a subscript'
bad 'global,value\n^a,"x\n' 'no closing "'
bad 'global,value\n^a,"x"y\n' 'between'
bad "^a($(yes 1, | head -n 31 | tr -d '\n')1)=1\n" 'MAXSUBS'
bad "^a(\"$(head -c 2000 /dev/zero | tr '\0' x)\")=1\n" 'KEY2BIG'
try 3 load --db new.caret --format csv gtm.zwr
says 'the first line of CSV'
printf 'GT.M MUPIP EXTRACT\n01-JAN-2020  00:00:00 GO\n^x\n1\n' >gtm.go
try 3 load --db new.caret gtm.go
says 'mupip extract -format=zwr'
says 'nor as JSON ({) or CSV'
for text in 'a line' 'a header\nand a line'; do
    printf "$text\n" >bad
    try 3 load --db new.caret bad
    says 'bad:1: no format that is known'
    try 3 load --db new.caret -f zwr bad
    says 'bad:1: not ZWR text: that begins with a node'
done
printf '{"^x":5}\n' >bad
try 3 load --db new.caret -f zwr bad
says 'bad:1: not ZWR text: that begins with a node, or with two lines of a header'
try 3 load --db new.caret none.zwr
says 'No such file'
try 3 load --db new.caret .
says "load: .: the input can't be read: Is a directory"
: >empty
try 0 load --db new.caret empty

printf '^a(1)=1\nbad\n^a(2)=2\nbad\n^a(3)=3\n' >mixed
for how in '' --keep-going --atomic; do
    rm -f new.caret*
    echo '^a(0)=0' | "$caret" load --quiet --db new.caret
    try 1 load --db new.caret $how mixed
    try 0 ls --db new.caret '^a'
    tr '\n' ' ' <out >got
    case $how in
    '') [ "$(cat got)" = '0 1 ' ] ;;
    --keep-going) [ "$(cat got)" = '0 1 2 3 ' ] ;;
    *) [ "$(cat got)" = '0 ' ] ;;
    esac
    note $? "load $how leaves $(cat got)"
done
printf '^a(1\n' >bad
printf '{"^a":' >bad.json
printf 'global,value\n^a,1,2\n' >bad.csv
printf 'what is this?\n' >unknown
for how in bad bad.json bad.csv unknown nothing '--atomic --keep-going bad' '--atomic mixed'; do
    "$caret" load --db none.caret $how >out 2>err
    [ $? -gt 0 ] && [ ! -e none.caret ]
    note $? "load $how makes no database"
done
cat mixed | "$caret" load --atomic --db none.caret >out 2>err
[ $? = 1 ] && [ ! -e none.caret ] && grep -q '^stdin:2: ' err
note $? "neither does load --atomic from a pipe"
head -n 1 mixed | "$caret" load --atomic --db none.caret >out 2>err && "$caret" get --db none.caret '^a(1)' >out && [ "$(cat out)" = 1 ]
note $? "which loads what is right"
rm -f none.caret*
try 1 load --check --keep-going mixed --db none.caret
[ "$(wc -l <err)" = 2 ] && [ ! -e none.caret ]
note $? "--check needs no database"
{ echo '^a=1' && yes bad | head -n 1000; } | "$caret" load --db new.caret --keep-going --json >out 2>err
[ $? = 1 ] && [ "$(wc -l <err)" = 101 ] && grep -q '"bad":1000' out
note $? "a thousand bad lines are counted, a hundred told"

# ----------------------------------------------- pipes, full disks, signals

echo 'for i = 1, 200000 do db.node("^big", i, "name").__ = "number " .. i end' | "$caret" run --db big.caret - >out 2>err
note $? "a larger database"
for format in zwr jsonl json csv; do
    { "$caret" dump --db big.caret -f $format 2>err; echo $? >status; } | head -n 5 >out
    [ "$(cat status)" = 141 ] && [ ! -s err ]
    note $? "a closed pipe ends a dump of $format without a word"
    "$caret" dump --db big.caret -f $format >/dev/full 2>err
    [ $? = 3 ] && grep -q 'No space left' err
    note $? "a full disk is told ($format)"
done
[ ! -e big.caret-log ]
note $? "the database is closed each time"

# Closed or unreadable standard files are told; no other file takes their place.
for arguments in "load --db new.caret" "set --db new.caret ^x -"; do
    # shellcheck disable=SC2086 # words
    timeout "$patience" "$caret" $arguments <&- >out 2>err
    [ $? = 3 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'Bad file descriptor' err
    note $? "$arguments with standard input closed"
    # shellcheck disable=SC2086
    timeout "$patience" "$caret" $arguments <. >out 2>err
    [ $? = 3 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'Is a directory' err
    note $? "$arguments with a folder as standard input"
done
for arguments in "dump" "tree ^a" "stat" "help"; do
    # shellcheck disable=SC2086
    CARET_DB=golden.caret timeout "$patience" "$caret" $arguments >&- 2>err
    [ $? = 3 ] && grep -q 'standard output: Bad file descriptor' err
    note $? "$arguments with standard output closed"
done

# A load that is stopped leaves nodes 1 to n, each whole, and a sound database.
"$caret" dump --db big.caret -o big.zwr
for signal in INT TERM KILL; do
    rm -f new.caret*
    mkfifo input
    env --default-signal "$caret" load --db new.caret input >out 2>err &
    loader=$!
    exec 3>input
    head -n 150000 big.zwr >&3
    soon "$caret" get --db new.caret '^big(1000,"name")'
    kill -$signal $loader
    wait $loader
    status=$?
    exec 3>&-
    rm input
    case $signal in
    INT) [ $status = 130 ] && grep -q 'stopped in line' err ;;
    TERM) [ $status = 143 ] && grep -q 'stopped in line' err ;;
    KILL) [ $status = 137 ] ;;
    esac
    note $? "SIG$signal ends a load (status $status)"
    try 0 check --db new.caret
    "$caret" dump --db new.caret 2>err | tail -n +3 >got
    n=$(wc -l <got)
    [ "$n" -ge 1000 ] && [ "$n" -lt 150000 ] && tail -n +3 big.zwr | head -n "$n" | cmp - got
    note $? "what was read before is there ($n nodes)"
done
env --default-signal "$caret" dump --db big.caret -o half.zwr --quiet 2>err &
dumper=$!
kill -INT $dumper
wait $dumper
rm -f half.zwr
! ls ./*partial* >out 2>/dev/null
note $? "a dump that is stopped leaves nothing"

finish
