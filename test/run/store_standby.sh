#!/bin/sh
# A standby is read from, and says what it is when it is to be written; what only reads goes from a primary that ends to
# its standby, and back.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret lua5.4 "$build/lua/5.4/caret.so"
# shellcheck source=../store/postgres.sh
. "$source/test/store/postgres.sh"
# shellcheck source=../store/ask.sh
. "$source/test/store/ask.sh"

pg_begin
trap 'pg_end; rm -rf "$dir"' EXIT
pg_make a && CARET_DB=$(pg_url a) keep "$caret" set '^a' 1 && pg_copy b a
note $? "a server and its standby"

there() { [ "$(pg_sql b "select count(*) from caret.nodes")" = "$1" ]; }
soon there 1
CARET_DB="$(pg_url b)?target_session_attrs=any" keep "$caret" get '^a' && [ "$(cat "$dir/out")" = 1 ]
note $? "a standby is read by the tool"
! CARET_DB="$(pg_url b)?target_session_attrs=any" keep "$caret" set '^a' 2 &&
    grep -q 'READONLY: .* it is a standby' "$dir/err"
note $? "and not written: $(cat "$dir/err")"
! CARET_DB=$(pg_url b) keep "$caret" set '^a' 2 && grep -q 'OPEN: .*read-only' "$dir/err"
note $? "nor is it taken for one that writes: $(cat "$dir/err")"
CARET_DB=$(pg_url b a) keep "$caret" set '^a' 2
note $? "which is found after it"

# every way to read
reads='local n = 0 for _ in db.node("^a"):pairs() do n = n + 1 end
    return db:get "^a", db.node("^a"):data(), db.node("^a"):count(), n, db:tp(function() return db:get "^a" end),
        db:snapshot(function() return db:get "^a" end)'
reads=$(echo "$reads" | tr '\n' ' ')
ask "$(pg_url a)" # 5,000 children, so that they are read in several pages
say 'db:tp(function() for i = 1, 5000 do db:set("^a", i, i) end end) return "done"'
is 'done' "many nodes"
quiet
soon there 5001
any=$(pg_url a b | sed 's/read-write/any/')
ask "$any" readonly
say "$reads"
is '2 11 5001 5000 2 2' "read from a primary"
say 'return db:set("^a", 1)'
is READONLY "which is not written"
pg_stop a
say "$reads"
is '2 11 5001 5000 2 2' "and from its standby when it has ended"
pg_start a
pg_stop b
say "$reads"
is '2 11 5001 5000 2 2' "and from the primary again"
quiet

# Texts in which \ is a letter like others, or not.
pg_sql a "alter database caret set standard_conforming_strings = off" >/dev/null
ask "$(pg_url a)"
say 'return db:get "^a", db:incr "^a"'
is '2 3' "standard_conforming_strings = off"
quiet

finish
