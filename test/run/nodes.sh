#!/bin/sh
# shellcheck disable=SC2016 # $C() is text here
# The tool's arguments, help, man page and completion, and its commands about nodes: get set incr kill data ls tree.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret

# is status output arguments...: runs the tool, which prints exactly that
is()
{
    want=$1
    output=$2
    shift 2
    timeout "$patience" "$caret" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    status=$?
    [ "$status" = "$want" ]
    note $? "caret $*: status $status, not $want"
    [ "$(cat "$dir/out")" = "$output" ]
    note $? "caret $*: should print $output"
}

# fails status text arguments...: one line that has the text
fails()
{
    want=$1
    text=$2
    shift 2
    timeout "$patience" "$caret" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    status=$?
    [ "$status" = "$want" ] && [ "$(wc -l <"$dir/err")" = 1 ] && [ ! -s "$dir/out" ] && grep -qF -- "$text" "$dir/err"
    note $? "caret $*: status $status, not $want, in one line with $text"
}

# ----------------------------------------------------------------- arguments

export CARET_DB="$dir/a.caret"
fails 2 "no command 'nonsense'" nonsense
fails 2 "no command 'command'" command
fails 2 "no option '--nonsense'" get --nonsense '^a'
fails 2 "NODE is missing" get
fails 2 "VALUE is missing" set '^a'
fails 2 "one argument too many" set '^a' 1 2
fails 2 "--db needs a value" get '^a' --db
fails 2 "--json takes no value" get --json=1 '^a'
fails 2 "--from needs a value, as in --from=--db" kill '^a' --from --db a.caret
fails 2 "--limit needs a value" ls --limit ''
fails 2 "whole number of at least 0" ls --limit x
fails 2 "whole number of at least 0" ls --limit=-1
fails 2 "not a global: write ^a" set a 1
fails 2 "SYNTAX" set '^a(' 1
fails 2 "MAXSUBS" set "^a(1$(yes ,1 | head -n 31 | tr -d '\n'))" 1
fails 2 "KEY2BIG" set "^a(\"$(head -c 2000 /dev/zero | tr '\0' x)\")" 1
fails 2 "NAME: '^1' is not a variable name" set '^1' 1
fails 2 "NAME: '^' is not a variable name" set '^' 1
fails 2 "NAME: '1' is not a variable name" set 1 1
fails 2 "SYNTAX: the JSON text" set --json '^a' '{bad'
fails 3 "KEY2BIG" set --json '^a' "{\"$(head -c 2000 /dev/zero | tr '\0' x)\":1}"
fails 3 "NUMOFLOW" incr '^a' 1E47
fails 3 "NOTFOUND" get '^a'
fails 3 "NOTFOUND" kill '^a'
fails 3 "OPEN" set --db "$dir/no/such/folder" '^a' 1
[ ! -e "$dir/a.caret" ]
note $? "no database is made by mistakes"
(ulimit -f 100 && timeout "$patience" "$caret" set '^a' 1 2>"$dir/err")
[ $? = 3 ] && grep -q 'DISKFULL: .*/a.caret: ' "$dir/err"
note $? "where there is no room, the database is what is told"
for command in "set ^a 1" "incr ^a" "load $dir/err"; do
    fails 3 "':memory:' is a new database each time: what this command stored there would be gone with it" \
        $command --db :memory:
done

# --------------------------------------------------------------------- nodes

is 0 '' set '^oaks(1,"shadow")' 10
is 0 10 get '^oaks(1,"shadow")'
is 0 10 get --db="$dir/a.caret" '^oaks(1,"shadow")'
is 0 '10
10' get '^oaks(1,"shadow")' --db "$dir/a.caret" '^oaks(1,"shadow")'
is 0 10.5 incr '^oaks(1,"shadow")' .5
is 0 9 incr '^oaks(1,"shadow")' -1.5
is 0 1 incr '^count'
is 0 '{"node":["^count"],"value":"1.5"}' incr '^count' .5 --json
is 0 '{"node":["^count"],"value":1}' incr '^count' -.5 --json
is 0 '{"node":["^count"],"data":1}' data '^count' --json
fails 2 "no command 'gte' (did you mean 'get'?)" gte '^count'
fails 2 "no command 'GET' (did you mean 'get'?)" GET '^count'
fails 2 "no command 'mumble';" mumble
fails 2 "no command 'x';" x
fails 2 "there is no command 'retsore' (did you mean 'restore'?)" help retsore
fails 2 "there is no option '--jsno' (did you mean '--json'?)" get --jsno '^count'
fails 2 "not 'json1' (did you mean 'jsonl'?)" dump -f json1
fails 2 "there is no option '-limit' (did you mean '--limit'?)" tree -limit '^count'
fails 2 "there is no option '-x'; see" tree -x '^count'
for by in many 0x10 1e3 ' 5' '' . 1E '12 oaks'; do
    fails 2 "is not a number to add: digits, perhaps with a sign, a point, an exponent after E" incr '^count' "$by"
done
is 0 1700000000000000002 incr '^stamp' 1700000000000000002
is 0 1700000000000000003 incr '^stamp'
is 0 1000000000000000001700000000000000003 incr '^stamp' 1E36
is 0 '' kill '^stamp'
is 0 '' set '^oaks' ''
is 0 '' get '^oaks'
is 0 '""' get --zwr '^oaks'
is 1 '' get '^oaks(1)'
is 0 11 data '^oaks'
is 0 10 data '^oaks(1)'
is 0 1 data '^oaks(1,"shadow")'
is 1 0 data '^none'
is 1 '{"node":["^none"],"data":0}' data '^none' --json
is 0 "{\"caret\":\"$("$caret" version | cut -c 7-)\"}" version --json
is 0 '' set -- '^minus' -x
is 0 -x get '^minus'
is 0 '{"__":"","1":{"shadow":9}}' get --json '^oaks'
is 0 '' set --json '^list' '[1,{"a":"é","b":[]},"3"]'
is 0 '[1,{"a":"é","b":[]},"3"]' get --json '^list'
fails 2 "SYNTAX" set --json '^list' '[1,'
is 0 '[1,{"a":"é","b":[]},"3"]' get --json '^list'

# every byte, by standard input and back
awk 'BEGIN { for (i = 0; i < 256; i++) printf "%c", i }' | LC_ALL=C cat >"$dir/bytes"
head -c 65536 /dev/urandom >>"$dir/bytes"
printf '\n' >>"$dir/bytes"
"$caret" set --raw '^bytes("\x",$C(0,255))' - <"$dir/bytes" && "$caret" get --raw '^bytes("\x",$C(0,255))' >"$dir/out" &&
    cmp "$dir/bytes" "$dir/out"
note $? "any bytes come back"
head -c 17000000 /dev/zero | "$caret" set '^bytes' - 2>"$dir/err"
[ $? = 3 ] && grep -q VALUE2BIG "$dir/err"
note $? "a value can be too big"
echo ten | "$caret" set '^ten' -
is 0 '"ten"' get --zwr '^ten'
is 0 '' kill --value '^bytes' '^ten'
is 0 10 data '^bytes'
is 0 '' kill '^bytes' '^list' '^none'

for i in 1 2 3 10 b a '"' '' 2.5; do
    case $i in
    [0-9]*) sub=$i ;;
    '"') sub='""""' ;;
    *) sub="\"$i\"" ;;
    esac
    "$caret" set "^t($sub,\"x\")" "$i"
    note $? "set ^t($sub)"
done
"$caret" set '^t(2)' two
is 0 '""
1
2
2.5
3
10
""""
"a"
"b"' ls '^t'
is 0 '2
2.5' ls '^t' --from 2 --limit 2
is 0 '10
3' ls '^t' --from 3 --to 10 --reverse --raw
is 0 '2
2.5' ls '^t' --from 2 --before 3
is 0 '"a"' ls '^t' --prefix a
is 1 '' ls '^t' --prefix 1
fails 2 'no other bound' ls '^t' --prefix a --to b
fails 2 'not both' ls '^t' --before a --to b
for node in '^r(1)' '^r(2,1)' '^r(3)' '^r("ab")' '^r("ac",1)' '^r("b")' '^r'; do is 0 '' set "$node" x; done
is 0 '' kill --from 2 --to 3 '^r'
is 0 '1
"ab"
"ac"
"b"' ls '^r'
is 0 '' kill --prefix a '^r' '^none'
is 0 '1
"b"' ls '^r'
is 0 '' kill --before b '^r'
is 0 '^r="x"
^r("b")="x"' tree '^r'
fails 2 'about their children' kill --value --from 1 '^r'
fails 2 'no other bound' kill --prefix a --from 1 '^r'
is 0 '' kill '^r'
for node in '^r("")' '^r(1)' '^r("--db")' '^r("a")'; do is 0 '' set "$node" x; done
is 0 '""' ls '^r' --to ''
is 0 '"--db"
"a"' ls '^r' --prefix ''
is 1 '' tree '^r' --before ''
is 0 '"--db"' ls '^r' --from=--db --to=--db
is 0 '' kill --prefix '' '^r'
is 0 '""
1' ls '^r'
is 0 '' kill '^r' --from ''
is 1 '' ls '^r'
is 0 '11  2="two"' ls '^t' -l --from 2 --to 2
is 0 '[{"subscript":2,"data":11,"value":"two"},
{"subscript":"2.5","data":10}]' ls '^t' --json --from 2 -n 2
is 1 '[]' ls '^none' --json
is 1 '' ls '^none'
is 0 '^count
^minus
^oaks
^t' ls
is 0 '^oaks
^minus' ls --to ^oaks -r -n 2
is 0 '^t(2)="two"
^t(2,"x")="2"' tree '^t(2)'
is 0 '^t(3,"x")="3"
^t(2.5,"x")="2.5"
^t(2,"x")="2"
^t(2)="two"' tree '^t' --from 2 --to 3 --reverse
is 0 '^t(2)="two"' tree '^t' --depth 1
is 1 '' tree '^t(1)' --depth 0
is 0 '{"node":["^t","","x"],"value":""}' tree '^t' --json --limit 1
grep -q 'stopped at 1 node;' "$dir/err"
note $? "says that there is more"
is 1 '' tree '^none'

# a reader that goes away, a full disk
"$caret" 3n1 -n 20000 --keep --db "$dir/big.caret" >/dev/null
{ "$caret" tree --all --db "$dir/big.caret" '^step' 2>"$dir/err"; echo $? >"$dir/status"; } | head -n 1 >"$dir/out"
[ ! -s "$dir/err" ] && [ "$(cat "$dir/status")" = 141 ]
note $? "a closed pipe ends it without a word"
[ ! -e "$dir/big.caret-log" ]
note $? "and the database is closed"
"$caret" ls >/dev/full 2>"$dir/err"
[ $? = 3 ] && grep -q 'No space left' "$dir/err"
note $? "a full disk is told"

# ----------------------------------------------------- help, man, completion

for command in $("$caret" help | sed -n 's/^  \([a-z0-9]*\)  .*/\1/p'); do
    case $command in nodes | environment | formats | status) continue ;; esac
    "$caret" help "$command" >"$dir/help" 2>"$dir/err" && "$caret" "$command" --help >"$dir/out" 2>>"$dir/err" &&
        cmp -s "$dir/help" "$dir/out" && grep -q "^usage: caret $command" "$dir/out" &&
        [ "$(wc -L <"$dir/out")" -le 110 ]
    note $? "help for $command"
    for script in bash zsh fish; do
        "$caret" completion $script | grep -q -- "$command"
        note $? "$script completes $command"
    done
    "$caret" help --man | tr -d '\\' | grep -q "^.SS caret $command"
    note $? "the man page has $command"
done
is 2 '' help nonsense
is 2 '' completion csh
"$caret" completion bash >"$dir/completion" && bash -n "$dir/completion" 2>"$dir/err" &&
    [ "$(bash -c ". '$dir/completion'; COMP_WORDS=(caret check --re); COMP_CWORD=2; _caret; echo \${COMPREPLY[*]}")" = --readonly ]
note $? "bash completes an option"
# completes word...: what bash offers for the last of them
completes() { bash -c ". '$dir/completion'; shift; COMP_WORDS=(caret \"\$@\"); COMP_CWORD=\$#; _caret; echo \${COMPREPLY[*]}" sh "$@"; }
[ "$(completes x dump --format js)" = 'jsonl json' ] && [ "$(completes x bench '')" = 'ops mix m compare' ] &&
    [ "$(completes x completion z)" = zsh ] && [ "$(completes x help form)" = formats ] && [ "$(completes x bench --unif)" = --uniform ]
note $? "and what values it can have"
if command -v fish >/dev/null; then
    "$caret" completion fish >"$dir/completion.fish"
    # shellcheck disable=SC2016 # fish's
    fish -c 'source $argv[1]; complete -C "caret load -f j"; complete -C "caret bench m"' "$dir/completion.fish" 2>"$dir/err" |
        cut -f 1 | tr '\n' ' ' >"$dir/out"
    grep -q 'json jsonl' "$dir/out" && grep -q 'mix' "$dir/out"
    note $? "so does fish"
else
    skip "no fish to complete values"
fi
if command -v zsh >/dev/null; then
    # shellcheck disable=SC2016 # zsh's
    print='_describe() { print -l ${(P)2} }; _arguments() { print -l -- $@ }; words=(caret du); CURRENT=2
        _caret; words=(caret dump -); CURRENT=3; _caret'
    mkdir "$dir/zsh"
    "$caret" completion zsh >"$dir/zsh/_caret"
    # shellcheck disable=SC2016
    zsh -f -c 'autoload -U compinit; compinit -D -u; source $1; print $_comps[caret]; eval $2' zsh "$dir/zsh/_caret" \
        "$print" >"$dir/out" 2>"$dir/err"
    [ ! -s "$dir/err" ] && grep -qx _caret "$dir/out" && grep -q '^dump:' "$dir/out" && grep -q '^--overwrite' "$dir/out"
    note $? "completion of zsh can be sourced"
    # shellcheck disable=SC2016
    zsh -f -c 'fpath=($1 $fpath); autoload -U compinit; compinit -D -u; print $_comps[caret]; eval $2' zsh "$dir/zsh" \
        "$print" >"$dir/out" 2>"$dir/err"
    [ ! -s "$dir/err" ] && grep -qx _caret "$dir/out" && grep -q '^dump:' "$dir/out" && grep -q '^--overwrite' "$dir/out"
    note $? "or be in a folder of its functions"
else
    skip "no zsh to complete"
fi
for checker in zsh fish; do
    if command -v $checker >/dev/null; then
        "$caret" completion $checker >"$dir/completion" && $checker -n "$dir/completion" 2>"$dir/err"
        note $? "$checker reads its completion"
    else
        skip "no $checker to read its completion"
    fi
done
"$caret" help --man >"$dir/caret.1"
if command -v groff >/dev/null; then
    groff -man -ww -z "$dir/caret.1" >"$dir/out" 2>"$dir/err"
    [ ! -s "$dir/err" ]
    note $? "groff finds nothing wrong with the man page"
else
    skip "no groff to read the man page"
fi

finish
