#!/bin/sh
# caret check, stat and salvage: a good database, a damaged one, none, bad options.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret

db=$dir/a.caret
expect 0 "a database is made" 3n1 -n 2000 --db "$db" --keep
expect 0 "a good database is clean" check "$db"
grep -q 'nothing is wrong' "$dir/out"
note $? "it says so"
expect 0 "in JSON too" check --db "$db" --json
grep -q '"clean":true,"findings":\[\]}' "$dir/out"
note $? "which has no findings"
expect 0 "stat" stat "$db" --json
grep -q '"pages":[1-9][0-9]*,.*"depth":[1-9]' "$dir/out"
note $? "it has pages and levels"
grep -q '"levels":\[{"pages":[1-9].*"globals":\[{"name":"^' "$dir/out"
note $? "what fills it, too"
expect 0 "stat in short" stat --quick "$db" --json
! grep -q '"levels"' "$dir/out"
note $? "does not walk"
before=$(stat -c '%y %s' "$db")
expect 0 "stat without a trace" stat --readonly "$db" --json
grep -q '"view":"file","levels"' "$dir/out"
note $? "of the file"
expect 0 "check without a trace" check --readonly "$db"
[ "$before" = "$(stat -c '%y %s' "$db")" ]
note $? "leaves none"

# by someone with the right to read alone: the option is named by those that have it
if [ "$(id -u)" = 0 ]; then as="setpriv --reuid=65534 --regid=65534 --clear-groups"; else as=; fi
chmod 711 "$dir" "$dir/tmp"
chmod 444 "$db"
if $as "$caret" version >/dev/null 2>&1 && ! $as test -w "$db"; then
    for command in dump stat check repl; do
        keep $as "$caret" $command --db "$db"
        [ $? = 3 ] && grep -q 'may not be written here: Permission denied (--readonly opens it for reading)' "$dir/err"
        note $? "$command names --readonly"
    done
    for command in 'set ^a 1' 'kill ^a' load top locks log "backup $dir/tmp/none"; do
        keep env CARET_DB="$db" $as "$caret" $command
        [ $? = 3 ] && grep -q 'may not be written here: Permission denied$' "$dir/err"
        note $? "${command%% *} names no option that it has not"
    done
    keep $as "$caret" dump --readonly --db "$db"
    note $? "--readonly does what is said of it"
    chmod 400 "$db" # but of another's: it may not be read either
    if ! $as test -r "$db"; then
        keep $as "$caret" dump --db "$db"
        [ $? = 3 ] && grep -q 'cannot be opened for reading and writing: Permission denied$' "$dir/err"
        note $? "it is not named where it would not help"
    fi
else
    skip "no other user may run the tool here"
fi
chmod 644 "$db"
expect 0 "stat for people" stat "$db"
grep -q 'levels of the tree' "$dir/out"
note $? "says what the numbers are"

# one byte of one value: in a leaf of a small database, and in a long value
damage()
{
    gzip -dc "$source/test/golden/1-clean.caret.gz" >"$dir/one.caret"
    at=$(grep -abo "$1" "$dir/one.caret" | head -n 1 | cut -d : -f 1)
    printf '#' | dd of="$dir/one.caret" bs=1 seek="$at" conv=notrunc 2>/dev/null
    expect 1 "a byte of $2 is damaged" check "$dir/one.caret"
    grep -q "page $((at / 4096))" "$dir/out"
    note $? "its page is named"
}
damage 'v17v17' 'a value'
damage 'long long long' 'a long value'

# a byte in the middle of every page after the first few
cp "$db" "$dir/bad.caret"
page=12
while [ $page -lt 60 ]; do
    printf 'X' | dd of="$dir/bad.caret" bs=1 seek=$((page * 4096 + 2000)) conv=notrunc 2>/dev/null
    printf 'Y' | dd of="$dir/bad.caret" bs=1 seek=$((page * 4096 + 4090)) conv=notrunc 2>/dev/null
    page=$((page + 1))
done
expect 1 "a damaged one is not" check "$dir/bad.caret"
grep -q 'page [0-9]' "$dir/out"
note $? "the findings name pages"
expect 3 "a reader is told" dump --db "$dir/bad.caret"
grep -q "CORRUPT: $dir/bad.caret: page [0-9]*: " "$dir/err"
note $? "which file and page"
expect 1 "in JSON too" check "$dir/bad.caret" --json
grep -q '"clean":false,"findings":\["' "$dir/out"
note $? "with findings"
expect 3 "it is not compacted" compact "$dir/bad.caret"
grep -q "CORRUPT: $dir/bad.caret: damaged, so no copy of it is made: page [0-9]*: .*findings: [0-9]" "$dir/err"
note $? "for that reason"

# what is left of it, and all of a good one
expect 0 "a good database is salvaged whole" salvage "$db" "$dir/good.zwr"
grep -q 'nothing is lost' "$dir/out" && [ "$(wc -l <"$dir/good.zwr")" -gt 4000 ]
note $? "with all its nodes"
expect 1 "a damaged one is salvaged" salvage --json "$dir/bad.caret" "$dir/bad.zwr"
grep -q '"lost":true,"nodes":[0-9]*,.*"findings":\["page ' "$dir/out" && [ -s "$dir/bad.zwr" ]
note $? "and what is lost is told"
tail -n +3 "$dir/bad.zwr" | sort >"$dir/bad.lines"
tail -n +3 "$dir/good.zwr" | sort >"$dir/good.lines"
[ "$(comm -23 "$dir/bad.lines" "$dir/good.lines" | wc -l)" = 0 ]
note $? "nothing is invented"
dd if=/dev/zero of="$dir/bad.caret" bs=4096 count=8 conv=notrunc 2>/dev/null
expect 1 "without meta slots too" salvage --sure "$dir/bad.caret" "$dir/worse.zwr"
cmp -s "$dir/bad.zwr" "$dir/worse.zwr" || tail -n +3 "$dir/worse.zwr" | sort | cmp -s - "$dir/bad.lines"
note $? "the same comes back"
"$caret" set '^n' 1 --db "$dir/one.caret"
head -c 20000 "$dir/one.caret" >"$dir/cut.caret"
expect 1 "of a file that was cut off before its only leaf" salvage "$dir/cut.caret" "$dir/cut.zwr"
grep -q 'the file was cut off: 1$' "$dir/out" && grep -q 'something is lost' "$dir/out"
note $? "it is told that the leaf is lost"
expect 3 "no file is overwritten" salvage "$db" "$dir/good.zwr"
expect 2 "salvage needs two paths" salvage "$db"
# empty FIRST-WORD-OF-THE-TEXT COMMAND OPERAND...: one is empty, as of a variable that is not set
empty()
{
    name=$1
    shift
    expect 2 "an empty path is a wrong argument of $1" "$@"
    grep -q "$name needs a path; see" "$dir/err"
    note $? "which names $name"
}
empty SRC salvage '' "$dir/none"
empty OUT salvage "$dir/none" ''
empty BACKUP restore '' "$dir/none"
empty TO restore "$dir/none" ''
empty TO backup ''
empty FILE check ''
empty FILE serve ''
empty INPUT load "$dir/none" ''
empty PROGRAM run ''

head -c 40000 "$db" >"$dir/short.caret"
expect 1 "a file that was cut off is damaged" check "$dir/short.caret"
grep -q '1 finding$' "$dir/out" && grep -q 'it was cut off' "$dir/out"
note $? "it says how"
expect 1 "in JSON as well" check "$dir/short.caret" --json
grep -q 'short.caret","clean":false,"findings":\["CORRUPT: ' "$dir/out"
note $? "it is a finding"
expect 3 "no such file" check "$dir/none.caret"
[ ! -e "$dir/none.caret" ]
note $? "and none is made"
echo 'not a database' >"$dir/foreign"
expect 3 "a foreign file" stat "$dir/foreign"
expect 2 "an option nobody knows" check --nonsense
expect 2 "two databases" stat "$db" "$db"
expect 2 "no path" check --db
expect 2 "what is inside is not a command" command

finish
