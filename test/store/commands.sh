#!/bin/sh
# Every command of the tool on the database of CARET_TEST_URL: it works, or it is UNSUPPORTED as unsupported.list says.
#
#   CARET_TEST_URL=postgresql://... sh test/store/commands.sh
#
# A command without a try here is a failure.  serve and web are asked for one answer and ended.

CARET_OWN_MEMORY=1 # it is run within a test that sees to it
# shellcheck source=../run/common.sh
. "$(dirname "$0")/../run/common.sh"
CARET_OWN_MEMORY=
need caret
url=${CARET_TEST_URL:?an address is needed}
list=$source/test/store/unsupported.list
echo 'print(db:get("^commands", 1))' >"$dir/program.lua"
echo '^commands(3)="three"' >"$dir/nodes"
printf 'hello\n write ^commands(1),!\n quit\n' >"$dir/hello.m"

# said WORD arguments...: ended once it has printed that
said()
{
    word=$1
    shift
    rm -f "$dir/out" "$dir/err" # those of the command before
    "$caret" "$@" </dev/null >"$dir/out" 2>"$dir/err" &
    pid=$!
    soon grep -q "$word" "$dir/out" "$dir/err"
    status=$?
    kill $pid
    wait $pid 2>/dev/null
    return $status
}

# bench: it refuses a database that is not empty, and leaves it so
bench()
{
    keep "$caret" bench mix --db "$url" -n 1000 --count 100 --mix F && return 98
    grep -q 'needs an empty database' "$dir/err" || return 97
    "$caret" ls --db "$url" | xargs -r "$caret" kill --db "$url"
    keep "$caret" bench mix --db "$url" -n 1000 --count 100 --mix F || return
    grep -q '^F: read' "$dir/out" && [ "$("$caret" ls --db "$url")" = "" ]
    status=$?
    "$caret" set --db "$url" '^commands(1)' one
    return $status
}

try()
{
    case $1 in
    help | version) keep "$caret" "$1" ;; # of no database
    shm) keep "$caret" shm || [ $? = 1 ] ;; # of others there may be something
    completion) keep "$caret" completion bash ;;
    set) keep "$caret" set --db "$url" '^commands(1)' one ;;
    data | get | tree | watch) keep "$caret" "$1" --db "$url" '^commands(1)' ;;
    incr) keep "$caret" incr --db "$url" '^commands(2)' ;;
    kill) keep "$caret" kill --db "$url" '^commands(2)' ;;
    dump | ls | repl | stat | check | compact | locks | log | top) keep "$caret" "$1" --db "$url" ;;
    load) keep "$caret" load --db "$url" "$dir/nodes" ;;
    run) keep "$caret" run --db "$url" "$dir/program.lua" ;;
    m) CARET_DB=$url CARET_ROUTINES=$dir keep "$caret" m -run hello ;;
    backup) keep "$caret" backup --db "$url" "$dir/copy.caret" ;;
    restore) keep "$caret" restore "$dir/copy.caret" "$url" ;;
    salvage) keep "$caret" salvage "$url" "$dir/salvaged" ;;
    3n1) keep "$caret" 3n1 --db "$url" -n 10 -w 2 ;;
    bench) bench ;;
    serve) said . serve --port 0 --unix "$dir/socket" "$url" ;;
    web) said http: web --port 0 --db "$url" ;;
    *) echo "there is no try for it" >"$dir/err" && return 99 ;;
    esac
}

refused()
{
    [ $status = 3 ] && grep -q "UNSUPPORTED: that is for a database in a file" "$dir/err"
}

"$caret" set --db "$url" '^commands(1)' one
for file in "$source"/front/tool/cmd/*.lua; do
    name=$(basename "$file" .lua)
    try "$name"
    status=$?
    function=$(awk -v name="$name" '$1 == "tool" && $2 == name { print $3 }' "$list")
    if [ -n "$function" ]; then
        refused
        note $? "caret $name is UNSUPPORTED (status $status)"
    else
        note $status "caret $name works (status $status)"
    fi
done
[ "$("$caret" get --db "$url" '^commands(1)')" = one ]
note $? "a command killed no more than it was told"
"$caret" kill --db "$url" '^commands'

finish
