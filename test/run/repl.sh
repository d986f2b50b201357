#!/bin/sh
# caret repl and caret run: lines from a pipe, and a terminal (by script(1)) with editing, completion, history, Ctrl-C.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret
export XDG_STATE_HOME="$dir/state" HOME="$dir" TERM=vt100
db=$dir/a.caret
tab=$(printf '\t')

# answer status what lines output: the prompt reads the lines and prints exactly that
answer()
{
    printf '%s\n' "$3" | timeout "$patience" "$caret" repl "$db" >"$dir/out" 2>"$dir/err"
    status=$?
    note $((status - $1)) "$2: status $status, not $1"
    [ "$(cat "$dir/out")" = "$4" ]
    note $? "$2: another output"
}

# complains text
complains() { grep -qF "$1" "$dir/err"; note $? "says: $1"; }

# ------------------------------------------------------------------ from a pipe

answer 0 "a node prints what is below it" 'n = db.node("^oaks")
n:settree {[1] = {shadow = 15}, name = "x\ny"}
n
n.none
=n[1].shadow' '^oaks(1,"shadow")="15"
^oaks("name")="x"_$C(10)_"y"
^oaks(1,"shadow")="15"
^oaks("name")="x"_$C(10)_"y"
^oaks("none")   -- nothing is there
^oaks(1,"shadow")="15"'
answer 0 "expressions print their values" '1 + 1, "a\nb", nil
_
1 == 2
{3, {x = 1}, "y", z = true, [10] = 1}
db:get("^oaks", 1, "shadow") .. "!"
nothing
' "2$tab\"a\\nb\"${tab}nil
2
false
{3, {x = 1}, \"y\", [10] = 1, z = true}
\"15!\"
nil"
answer 0 "what is not finished goes on in the next line" 'for i = 1, 2 do
    print(i)
end
t = {
    1}
1 +
2
[[a
b]]
t' '1
2
3
"a\nb"
{1}'
answer 0 "a tree in a table" 'db.node("^oaks"):gettree()' '{{shadow = "15"}, name = "x\ny"}'
answer 0 "globals are listed" 'db.node("^a", 1).__ = 1 db.node("v").__ = 1
.globals' '^a
^oaks'
answer 0 "nothing after .quit is read" '.quit
print(1)' ''

# fails status what lines text: status and a complaint; what follows is read all the same
fails()
{
    printf '%s\n' "$3" | timeout "$patience" "$caret" repl "$db" >"$dir/out" 2>"$dir/err"
    status=$?
    note $((status - $1)) "$2: status $status, not $1"
    complains "$4"
}

fails 1 "an error" 'error("oh")
print("still here")' 'stdin:1: oh'
grep -q 'still here' "$dir/out"
note $? "goes on after an error"
fails 1 "an error of the module" 'db.node("^oaks").x = 5' 'a node is not a table: write node'
fails 1 "no Lua" 'x y' "near 'y'"
fails 1 "an end too early" 'for i = 1, 2 do' 'not finished'
fails 1 "an unknown command" '.foo' 'there is no .foo'
printf '.help\n' | "$caret" repl "$db" >"$dir/out" 2>"$dir/err"
grep -q 'Tab completes' "$dir/out"
note $? "tells what there is"
printf 'help\n?\nquit()\nhelp = 5\nhelp\n' | "$caret" repl "$db" >"$dir/out" 2>"$dir/err"
[ "$(grep -c '^\.help tells how, \.quit leaves$' "$dir/out")" = 3 ] && [ "$(tail -n 1 "$dir/out")" = 5 ] && [ ! -s "$dir/err" ]
note $? "and how to be told, but not of a variable"

usage()
{
    expect "$want" "caret $*" "$@"
}
want=2
usage repl --nonsense
usage repl "$db" other
usage repl --json
usage run
usage run --nonsense
usage run --db
usage words
want=3
usage repl "$dir/no/such/folder/x"
usage repl --readonly "$dir/none.caret"
complains '; --db or $CARET_DB names another'
[ ! -e "$dir/none.caret" ]
note $? "no database is made for a reader"
printf 'db.node("^oaks").name.__\ndb.node("^oaks").__ = 1\n' | "$caret" repl --readonly "$db" >"$dir/out" 2>"$dir/err"
grep -q READONLY "$dir/err" && grep -q '"x' "$dir/out"
note $? "a reader reads and does not write"

# ------------------------------------------------------------------ caret run

cat >"$dir/p.lua" <<'END'
local caret = require "caret"
assert(caret == _G.caret and rawget(_G, "db") == nil)
print(arg[0]:match("[^/]*$"), arg[1], ...)
db.node("^run").x.__ = arg[1]
print(db.node("^run"):json(), undefined_name)
if arg[2] then error(arg[2]) end
END
want=0
usage run --db "$db" "$dir/p.lua" 7
[ "$(cat "$dir/out")" = "p.lua${tab}7${tab}7
{\"x\":7}${tab}nil" ]
note $? "a program gets its arguments and the database"
want=1
usage run --db "$db" "$dir/p.lua" 7 oh
complains "p.lua:6: oh"
for wrong in '{}' '{name = "FULL"}' 'setmetatable({}, {__tostring = function() return "oh" end})' 'nil' '5'; do
    echo "error($wrong)" >"$dir/raises.lua"
    usage run "$dir/raises.lua"
done
want=3
echo 'caret.open(db:path(), {readonly = true}):set("^run", 1)' >"$dir/reader.lua"
usage run --db "$db" "$dir/reader.lua"
complains READONLY
usage run --db "$dir/no/such/folder/x" "$dir/reader.lua"
complains 'its directory'
want=3 # as every file that can't be read
usage run "$dir/none.lua"
complains "none.lua"
usage run "$dir"
complains "$dir is a folder"
want=1
echo 'x y' >"$dir/bad.lua"
usage run "$dir/bad.lua"
complains "bad.lua:1"
echo 'print(...)' | "$caret" run - 1 2 >"$dir/out" 2>"$dir/err"
[ "$(cat "$dir/out")" = "1${tab}2" ]
note $? "a program from standard input"

# ----------------------------------------------------------------- a terminal

[ ! -e "$dir/state" ]
note $? "without a terminal there is no history"

# The keys go through a pipe to script(1), which has the prompt on a terminal of its own. It runs $SHELL, /bin/sh
# without one: the prompt takes that shell's place, as Ctrl-C goes to it too, and dash would end with 130 for it.
screen=$dir/screen
type_keys()
{
    # shellcheck disable=SC2059 # escapes are wanted
    printf "$1" >&3
}

# sees text: it comes to the screen
sees()
{
    soon grep -qaF "$1" "$screen"
    note $? "on the screen: $1"
}

prompted() { [ "$(tail -c 2 "$screen")" = '> ' ]; }

# answers text: the same, and the prompt is there again
answers()
{
    sees "$1"
    soon prompted
}

start()
{
    : >"$screen"
    rm -f "$dir/keys"
    mkfifo "$dir/keys"
    timeout "$patience" script -qfec "exec $caret repl $db" "$screen" <"$dir/keys" >"$dir/out" 2>"$dir/err" &
    terminal=$!
    exec 3>"$dir/keys"
    answers '.help tells how'
}

# The prompt is left by Ctrl-D; its status is that of script.
stop()
{
    type_keys '\004'
    wait $terminal
    status=$?
    note $status "the prompt is left by Ctrl-D (status $status)"
    exec 3>&-
}

if ! command -v script >/dev/null || ! script -qfec true /dev/null </dev/null >/dev/null 2>&1; then
    skip "no script(1) to have a terminal with"
else
    start
    type_keys '"se" .. "en"\r'
    answers '"seen"'
    type_keys 'this is dropped\003'
    answers '^C'
    type_keys '6 * 7\r'
    answers '42'
    type_keys 'print("run" .. "ning") while true do end\r'
    sees 'running'
    type_keys '\003'
    answers 'interrupted'
    type_keys 'for i = 1, 1 do\rprint("l" .. "oop")\rend\r'
    answers 'loop'
    type_keys 'db.node("^oa\t")[1].sha\t.__ .. "!"\r' # a global, a subscript
    answers '"15!"'
    type_keys 'n = db.node("^oaks") print("se" .. "t")\r'
    answers 'set'
    type_keys 'n:has_v\t()\r' # a method
    answers 'false'
    type_keys 'n["na\t.__ .. 1\r' # a subscript in brackets
    answers 'y1"'
    type_keys '11 * 11\r'
    answers '121'
    type_keys '\020 + 1\r' # Ctrl-P: the line before
    answers '122'
    stop
    ls -l "$dir/state/caret/history" >"$dir/out"
    grep -q '^-rw-------' "$dir/out" && grep -q '11' "$dir/state/caret/history"
    note $? "the history is for its owner only"
    start
    type_keys '\020\020 + 1000\r'
    answers '1121'
    stop
fi

finish
