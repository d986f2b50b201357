#!/bin/sh
# caret backup and caret check --online: a copy beside writers, names that are taken, damage, bad options.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret

db=$dir/a.caret
expect 0 "a database is made" 3n1 -n 3000 --db "$db" --keep
expect 0 "it is copied" backup "$dir/b.caret" --db "$db"
grep -q 'backed up to' "$dir/out"
note $? "it says so"
expect 0 "the copy is clean" check "$dir/b.caret"
expect 0 "also when a snapshot is checked" check "$dir/b.caret" --online
expect 3 "a file is not replaced" backup "$dir/b.caret" --db "$db"
grep -q 'already; --overwrite replaces it' "$dir/err"
note $? "it says why, and what would replace it"
expect 0 "unless told to, and packed" backup "$dir/b.caret" --db "$db" --overwrite --compact --quiet
[ ! -s "$dir/err" ]
note $? "quietly"
[ "$(wc -c <"$dir/b.caret")" -lt "$(wc -c <"$db")" ]
note $? "smaller"
expect 0 "and clean" check "$dir/b.caret"
expect 0 "a copy of the copy" backup --db "$dir/b.caret" "$dir/c.caret" --compact
cmp -s "$dir/b.caret" "$dir/c.caret"
note $((1 - $?)) "is another one" # epoch and LSN went on

# while others write
"$caret" 3n1 -n 60000 -w 2 --db "$dir/w.caret" --keep >/dev/null 2>&1 &
writer=$!
soon test -e "$dir/w.caret"
for i in 1 2 3; do
    expect 0 "a copy beside writers ($i)" backup "$dir/w$i.caret" --db "$dir/w.caret" --quiet
    expect 0 "is clean" check "$dir/w$i.caret"
    expect 0 "they are checked online" check "$dir/w.caret" --online
done
wait $writer
note $? "the writers do not notice"

# a backup and the archive of the log
expect 0 "a backup is restored" restore "$dir/b.caret" "$dir/r.caret"
expect 0 "it is clean" check "$dir/r.caret"
expect 0 "with its result as JSON" restore "$dir/b.caret" "$dir/rj.caret" --json
grep -q '^{"backup":"[^"]*/b.caret","file":"[^"]*/rj.caret","lsn":[0-9]*}$' "$dir/out"
note $? "one object"
expect 0 "and that of a backup" backup --db "$dir/b.caret" "$dir/bj.caret" --json
grep -q '^{"file":"[^"]*/b.caret","backup":"[^"]*/bj.caret","bytes":[0-9]*}$' "$dir/out"
note $? "is one, too"
expect 3 "it is not replaced" restore "$dir/b.caret" "$dir/r.caret"
mkdir "$dir/empty"
expect 0 "an empty archive leads nowhere" restore "$dir/b.caret" "$dir/r2.caret" --archive "$dir/empty"
expect 3 "so no later place is reached" restore "$dir/b.caret" "$dir/r3.caret" --archive "$dir/empty" --lsn 100000000
[ ! -e "$dir/r3.caret" ]
note $? "and nothing is made"
expect 0 "a time" restore "$dir/b.caret" "$dir/r4.caret" --archive "$dir/empty" --time '2026-01-01 00:00'
grep -q 'the archive ends with the backup, .* before or after the time' "$dir/err"
note $? "of which it does not know whether it is before the backup"
expect 2 "what is not a time" restore "$dir/b.caret" "$dir/r5.caret" --archive "$dir/empty" --time yesterday
expect 2 "nor is there a 13th month" restore "$dir/b.caret" "$dir/r5.caret" --archive "$dir/empty" \
    --time '2026-13-01 08:30'
expect 2 "nor the 30th of February" restore "$dir/b.caret" "$dir/r5.caret" --archive "$dir/empty" \
    --time '2026-02-30 08:30'
expect 2 "nor an hour 24" restore "$dir/b.caret" "$dir/r5.caret" --archive "$dir/empty" --time '2026-02-20 24:30'
grep -q 'no such time as 2026-02-20 24:30' "$dir/err"
note $? "it says which"
expect 3 "nothing is copied onto a folder" backup "$dir/empty" --db "$db"
grep -q 'is a folder' "$dir/err"
note $? "and nothing would replace it"
expect 2 "a place needs an archive" restore "$dir/b.caret" "$dir/r5.caret" --lsn 5
expect 1 "no backup" restore "$dir/err" "$dir/r5.caret"

cat >"$dir/archived.lua" <<'END'
local caret = require "caret"
local db = assert(caret.open(arg[1], {archive = arg[3]}))
assert(db:backup(arg[2]))
for i = 1, 3 do
    db.node("^t")[i].__ = i
    db:checkpoint()
end
db:close()
END
mkdir "$dir/archive"
expect 0 "with an archive" run "$dir/archived.lua" "$dir/v.caret" "$dir/v.backup" "$dir/archive"
expect 0 "it is brought up to its end" restore "$dir/v.backup" "$dir/v1.caret" --archive "$dir/archive"
missing=$(find "$dir/archive" -name '*.caret-archive' | sort | sed -n 2p)
rm "$missing"
expect 3 "but not over a gap" restore "$dir/v.backup" "$dir/v2.caret" --archive "$dir/archive" --time '2100-01-01 00:00'
grep -q "$(basename "$missing") is missing" "$dir/err"
note $? "which is named"

# a damaged one
page=12
while [ $page -lt 60 ]; do
    printf 'X' | dd of="$db" bs=1 seek=$((page * 4096 + 2000)) conv=notrunc 2>/dev/null
    printf 'Y' | dd of="$db" bs=1 seek=$((page * 4096 + 4090)) conv=notrunc 2>/dev/null
    page=$((page + 1))
done
expect 1 "a damaged one is not copied" backup "$dir/d.caret" --db "$db" --quiet
[ ! -e "$dir/d.caret" ]
note $? "no file is left"
expect 1 "nor clean" check "$db" --online

expect 3 "no such database" backup "$dir/e.caret" --db "$dir/none.caret"
expect 3 "no such folder" backup "$dir/none/e.caret" --db "$dir/b.caret"
expect 2 "where to?" backup --db "$dir/b.caret"
expect 2 "two files" backup "$dir/e.caret" "$dir/f.caret"
expect 2 "an option nobody knows" backup "$dir/e.caret" --nonsense
find "$dir" -name '*partial*' | grep -q .
note $((1 - $?)) "no half of a copy is left"

# in its place
echo 'for i = 1, 30000 do db.node("^gone", i).__ = ("x"):rep(100) end db.node("^gone"):kill() db.node("^kept", 1).__ = 1' |
    "$caret" run --db "$dir/l.caret" -
expect 0 "a database is compacted" compact "$dir/l.caret" --json
grep -q '"before":[0-9]*,"after":[0-9]*}' "$dir/out" && [ "$(wc -c <"$dir/l.caret")" -lt 200000 ]
note $? "it is smaller"
expect 0 "and clean" check "$dir/l.caret"
expect 0 "with what was in it" get --db "$dir/l.caret" '^kept(1)'
expect 0 "once more" compact --db "$dir/l.caret"
echo 'db.node("^kept", 2):grab() io.open(arg[1], "w"):close() while true do os.execute("sleep 0.1") end' |
    "$caret" run --db "$dir/l.caret" - "$dir/open" &
user=$!
while [ ! -e "$dir/open" ]; do sleep 0.05; done
expect 3 "one that is in use is not" compact "$dir/l.caret"
grep -q "BUSY.*open in process $user" "$dir/err"
note $? "it says who uses it"
kill $user
wait $user
expect 3 "nor one that is not there" compact "$dir/none.caret"
expect 3 "nor one in memory" compact :memory:
grep -q "nothing to find there" "$dir/err"
note $? "as it is empty"
find "$dir" -name '*partial*' | grep -q .
note $((1 - $?)) "no half of a copy is left there"

finish
