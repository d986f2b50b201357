#!/bin/sh
# Standard output that can't be written: whatever a command prints, a full disk is told and makes it fail, and a reader
# that has gone ends it without a word, its database closed.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret

cd "$dir" || exit 1
export CARET_DB=forest.caret
"$caret" set '^a(1)' x && "$caret" set '^a(2)' 5 || exit 1

# lost status word arguments...: the command ends so, and says why
lost()
{
    want=$1
    word=$2
    shift
    timeout "$patience" "$caret" "$@" </dev/null >/dev/full 2>err
    [ $? = "$want" ] && grep -q "^caret $word: standard output: No space left on device$" err
    note $? "a full disk is told: $*"
}

for command in data ls tree; do lost 3 $command '^a'; done
lost 3 get '^a(1)'
lost 3 ls
lost 3 incr '^a(2)'
for format in zwr jsonl json csv; do lost 3 dump -f $format; done
for command in stat check compact shm locks; do lost 3 $command --json; done
for command in stat check compact; do lost 3 $command; done
lost 3 backup copy.caret
lost 3 restore copy.caret again.caret
lost 3 salvage copy.caret saved.caret
"$caret" dump >copy.zwr
lost 3 load --json copy.zwr
lost 3 top -n 1
lost 3 3n1 -n 100
lost 3 3n1 --list
lost 3 bench ops -n 1000
lost 3 version
lost 3 help
for shell in bash zsh fish; do lost 3 completion $shell; done

for command in $("$caret" help | sed '/^More/,$d' | sed -n 's/^  \([a-z0-9]\{1,\}\)  .*/\1/p'); do
    timeout "$patience" "$caret" "$command" --help >/dev/full 2>err
    [ $? = 3 ] && grep -q 'standard output: No space left on device' err
    note $? "and so it is of the help of $command"
done

# --------------------------------------------------------------- users' programs

echo 'print "a"' >print.lua
echo 'io.write "a" os.exit(0)' >exit.lua
echo 'for i = 1, 100000 do print(i) end' >many.lua
echo 'print "a" error "wrong"' >wrong.lua
echo 'local f = io.open("kept", "w") f:write "kept" print "a"' >file.lua
for program in print exit many wrong file; do lost 3 run $program.lua; done
[ "$(cat kept)" = kept ]
note $? "other files are written"
timeout "$patience" "$caret" run wrong.lua >/dev/full 2>err
grep -q 'wrong.lua:1: wrong' err
note $? "an error is told beside that"
echo 'print "a"' | "$caret" run - >/dev/full 2>err
[ $? = 3 ] && grep -q 'No space' err
note $? "a program on standard input"
echo 'print "a"' | "$caret" repl >/dev/full 2>err
[ $? = 3 ] && grep -q '^caret repl: standard output: No space left on device$' err
note $? "what is typed at a prompt"
echo '5' | "$caret" repl >/dev/full 2>err
[ $? = 3 ]
note $? "a result there"
echo 'local a = 5' | "$caret" repl >/dev/full 2>err && [ ! -s err ]
note $? "what prints nothing is fine"
"$caret" run print.lua >&- 2>err
[ $? = 3 ] && grep -q 'standard output: Bad file descriptor' err
note $? "a closed descriptor is told"

# The log and the locks have something to tell while the database is open; the watch as soon as something changes.
cat >inside.lua <<'END'
db:set("^a", 3, "x")
db.node("^a"):grab()
for _, words in ipairs {"log", "log --json", "locks"} do
    os.execute(("'%s' %s </dev/null 2>&1 >/dev/full; echo $?"):format(arg[1], words))
end
local watch = io.popen(("'%s' watch '^a' </dev/null 2>&1 >/dev/full; echo $? | tee watched"):format(arg[1]))
repeat
    db:incr("^a", 4, 1)
    os.execute "sleep 0.05"
    local done = io.open "watched"
until done and done:read "l"
io.write(watch:read "a")
END
keep "$caret" run inside.lua "$caret"
for command in log log locks watch; do
    echo "caret $command: standard output: No space left on device"
    echo 3
done >expected
sort expected >expected.sorted
sort out err | cmp -s - expected.sorted
note $? "of the log, the locks and a watch"
if [ -x "$build/caret-m" ]; then
    printf 't w "a",!\n' >t.m
    for words in -version '-format t.m'; do
        # shellcheck disable=SC2086
        "$caret" m $words >/dev/full 2>err
        [ $? = 1 ] && grep -q '^caret m: standard output: No space left on device$' err
        note $? "M: $words"
    done
    for words in '-run t' '' ; do
        # shellcheck disable=SC2086
        echo ' w 1' | "$caret" m $words >/dev/full 2>err
        [ $? = 1 ] && grep -q '^%SYSTEM-E-ENO28, No space left on device' err
        note $? "M: $words"
    done
fi
if [ -x "$build/caret-server" ]; then
    for word in --help --version; do
        "$build/caret-server" $word >/dev/full 2>err
        [ $? = 3 ] && grep -q '^caret serve: standard output: No space left on device$' err
        note $? "the server: $word"
    done
fi

# ------------------------------------------------------------------ closed pipes

# gone words...: the command's reader goes after the first line
gone()
{
    { timeout "$patience" "$caret" "$@" 2>err; echo $? >status; } | head -n 1 >out
    [ "$(cat status)" = 141 ] && [ ! -s err ] && [ ! -e forest.caret-log ]
    note $? "a closed pipe ends it without a word: $*"
}
cat >loop.lua <<'END'
db:set("^a", 5, "z")
for i = 1, 1e9 do print(i) end
END
gone run loop.lua
echo 'for i = 1, 1e9 do print(i) end' >loop
{ timeout "$patience" "$caret" repl <loop 2>err; echo $? >status; } | head -n 1 >out
[ "$(cat status)" = 141 ] && [ ! -s err ] && [ ! -e forest.caret-log ]
note $? "at a prompt, too"

finish
