#!/bin/sh
# Servers as they are met: roles without rights, passwords, TLS, poolers, old and foreign tables, a server that is
# restarted, stalled, or has lost the database.  Each says exactly what is wrong, and does nothing by halves.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret lua5.4 "$build/test/proxy" "$build/test/store_append" "$build/lua/5.4/caret.so"
# shellcheck source=../store/postgres.sh
. "$source/test/store/postgres.sh"
# shellcheck source=../store/ask.sh
. "$source/test/store/ask.sh"

pg_begin
trap 'pg_end; rm -rf "$dir"' EXIT
address=127.91.$(($$ / 250 % 250 + 1)).$(($$ % 250 + 1)) # of its own, as all servers have the same port
pg_make s "listen_addresses = '$address'"
note $? "a server"
url=$(pg_url s)
base=$(printf '%s' "$url" | sed 's|//[^@]*@|//|; s|/[^/]*$||') # without user and database

sql() { pg_sql s "$1" >"$dir/sql" 2>&1; }
# as ROLE DATABASE [PARAMETERS]: an address
as() { printf '%s' "$base" | sed "s|//|//$1@|" && printf '/%s%s' "$2" "${3:-}"; }
# tool URL COMMAND...
tool() { CARET_DB=$1 keep "$caret" "$2" ${3:+"$3"} ${4:+"$4"}; }
# refused URL TEXT: the tool's answer to a get
refused() { ! tool "$1" get '^a' && grep -qF "$2" "$dir/err"; }
refused_set() { ! tool "$1" set '^a' 2 && grep -qF "$2" "$dir/err"; }

# --------------------------------------------------------- roles and databases

tool "$url" set '^a' 1
note $? "a first node"
sql "create role reader login; grant usage on schema caret to reader; grant select on all tables in schema caret to reader"
tool "$(as reader caret)" get '^a' && [ "$(cat "$dir/out")" = 1 ] &&
    refused_set "$(as reader caret)" 'OPEN: ' && grep -q 'permission denied.*42501' "$dir/err"
note $? "a role that may only read: OPEN, 42501, for a set"
tool "$url" get '^a' && [ "$(cat "$dir/out")" = 1 ]
note $? "and nothing was set"
ask "$(as reader caret)" readonly
say 'return db:get "^a"'
is 1 "opened read-only by it"
say 'db:set("^a", 2)'
is READONLY "where a set is READONLY"
quiet
sql "create role stranger login"
refused "$(as stranger caret)" 'permission denied for schema caret'
note $? "a role without rights"
pg_sql s "create database bare" >/dev/null && pg_sql s "revoke create on database bare from public" bare
refused_set "$(as stranger bare)" "can't be made: permission denied"
note $? "no right to make the schema"
refused "$(as nobody_at_all caret)" 'role "nobody_at_all" does not exist'
note $? "no such role"
refused "$(as caret nowhere)" 'database "nowhere" does not exist'
note $? "no such database"

pg_sql s "create database latin encoding LATIN1 template template0" >/dev/null
pg_sql s "create database bytes encoding SQL_ASCII template template0" >/dev/null
for name in latin bytes; do
    ask "$(as caret $name)"
    say 'db:set("^\xc3\xa4", "\xff\0", "\xfe\0\xc3") return db:get("^\xc3\xa4", "\xff\0") == "\xfe\0\xc3"'
    case $said in error*) say 'db:set("^x", "\xff\0", "\xfe\0\xc3") return db:get("^x", "\xff\0") == "\xfe\0\xc3"' ;; esac
    is true "all bytes in a database that is not UTF8: $name"
    quiet
done

sql "create role odd login superuser; create schema evil; create table evil.nodes(k text, v text);
    alter role odd set search_path = evil; alter role odd set default_transaction_isolation = 'read committed';
    alter role odd set default_transaction_deferrable = on; alter role odd set bytea_output = 'escape'"
ask "$(as odd caret)"
say 'return db:get "^a", db:incr "^count", db:tp(function() return db:get "^a" end)'
is '1 1 1' "a role with a search_path, an isolation and an output of its own"
quiet
sql "alter role odd set default_transaction_read_only = on"
refused_set "$(as odd caret)" 'session is read-only'
note $? "a role that is read-only"
[ "$(pg_sql s 'select count(*) from evil.nodes')" = 0 ]
note $? "nothing went to a table of the same name"

pg_sql s "create database newer" >/dev/null
tool "$(as caret newer)" set '^a' 1
pg_sql s "update caret.meta set value = '2' where name = 'layout'" newer
refused "$(as caret newer)" 'layout 2; this library knows 1'
note $? "tables of a newer version"
pg_sql s "delete from caret.meta" newer
refused "$(as caret newer)" "is not Caret's"
note $? "tables of somebody else"

pg_sql s "create database citizens" >/dev/null
pg_sql s "insert into pg_extension values (99999, 'citus', 10, 11, false, '12')" citizens >/dev/null
refused "$(as caret citizens)" 'has Citus, whose transactions are not serializable'
note $? "Citus, as far as its entry among the extensions"

sql "create role hasty login superuser; alter role hasty set statement_timeout = '100ms'"
ask "$(as hasty caret)"
PGHOST=$pg_folder/s psql -XqAt -U caret -d caret -c "begin; update caret.nodes set v = v" -c "\\! touch $dir/locked" \
    -c "select pg_sleep(1000)" >"$dir/psql" 2>&1 9>&- 8>&- 7>&- 6>&- &
soon [ -f "$dir/locked" ]
say 'db:set("^a", 5)'
is 57014 "a statement that the server ends is IO, 57014"
sql "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()"
wait $!
say 'return db:get "^a"'
is 1 "and not done"
quiet

# A warning that comes with each connection is for a log of the server, not for a user's terminal.
sql "update pg_database set datcollversion = 'of old' where datname = 'caret'"
keep psql -X -h "$pg_folder/s" -U caret -d caret -c 'select 1'
grep -q WARNING "$dir/err" || skip "this server does not warn"
tool "$url" get '^a' && [ "$(cat "$dir/out")" = 1 ] && ! [ -s "$dir/err" ]
note $? "and nobody has to read it: $(cat "$dir/err")"
sql "update pg_database set datcollversion = null where datname = 'caret'"

# --------------------------------------------------------- passwords and TLS

hba=$pg_folder/s/data/pg_hba.conf
sql "create role secret login superuser password 'oak'"
{
    echo "local all secret scram-sha-256"
    echo "hostssl all all 127.0.0.0/8 trust"
    echo "hostnossl all all 127.0.0.0/8 reject"
    cat "$hba"
} >"$dir/hba" && cat "$dir/hba" >"$hba"
pg_reload s
strict() { ! pg_sql s "select 1" >/dev/null || PGPASSWORD='' refused "$(as secret caret)" ''; }
export PGPASSFILE="$dir/no_passwords"
soon refused "$(as secret caret)" 'no password supplied'
note $? "a password is asked for"
refused "$(as secret:elm caret)" 'password authentication failed' && ! grep -q elm "$dir/err"
note $? "a wrong one, which is not shown"
tool "$(as secret:oak caret)" get '^a'
note $? "the right one"
PGPASSFILE=$dir/passwords
echo '*:*:*:*:oak' >"$PGPASSFILE" && chmod 600 "$PGPASSFILE"
tool "$(as secret caret)" get '^a' && ! [ -s "$dir/err" ]
note $? "in a file"
chmod 644 "$PGPASSFILE"
refused "$(as secret caret)" "($PGPASSFILE is open to others: chmod 600)" && [ "$(wc -l <"$dir/err")" = 1 ]
note $? "which is open to others: it is not used, and the error says so"
chmod 600 "$PGPASSFILE"

if command -v openssl >/dev/null; then
    for name in server other; do
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=forest -addext "subjectAltName=IP:$address" \
            -keyout "$dir/$name.key" -out "$dir/$name.crt" 2>/dev/null
    done
    for end in key crt; do
        pg_run sh -c "umask 77; cat >s/data/server.$end" 2>/dev/null || true
        cat "$dir/server.$end" >"$pg_folder/s/data/server.$end"
        chmod 600 "$pg_folder/s/data/server.$end"
        [ -z "$pg_as" ] || chown nobody "$pg_folder/s/data/server.$end"
    done
    echo 'ssl = on' >>"$pg_folder/s/data/postgresql.conf"
    pg_stop s && pg_start s
    tls() { printf 'postgresql://caret@%s/caret?sslmode=%s' "$address" "$1"; }
    refused "$(tls disable)" 'no encryption'
    note $? "TLS is required"
    ask "$(tls require)"
    say 'local v = string.rep("oak", 1500000) db:set("^long", v) return db:get "^long" == v and #v'
    is 4500000 "a long value through TLS"
    say 'for i = 1, 9999 do db.node("^n", i):set(i) end local n = 0 for _ in db.node("^n"):pairs() do n = n + 1 end return n'
    is 9999 "a walk through TLS"
    say 'db.node("^n"):kill()'
    quiet
    tool "$(tls verify-full)&sslrootcert=$dir/server.crt" get '^a'
    note $? "verify-full with the right certificate"
    refused "$(tls verify-full)&sslrootcert=$dir/other.crt" 'certificate verify failed'
    note $? "and with a wrong one"
else
    skip "TLS: openssl is not installed"
fi

# ------------------------------------------------------------------ PgBouncer

# pool MODE [CONNECTIONS]: a pooler in folder b
pool()
{
    pg_run mkdir -p b
    cat >"$pg_folder/pool.ini" <<INI
[databases]
caret = host=$pg_folder/s user=caret
[pgbouncer]
listen_addr =
listen_port = 5432
unix_socket_dir = $pg_folder/b
auth_type = any
pool_mode = $1
default_pool_size = ${2:-20}
logfile = $pg_folder/b/log
pidfile = $pg_folder/b/pid
INI
    pg_run pgbouncer -d "$pg_folder/pool.ini" >"$dir/pool" 2>&1
    soon [ -S "$pg_folder/b/.s.PGSQL.5432" ]
}
drain()
{
    pooler=$(cat "$pg_folder/b/pid") && kill -INT "$pooler" && pg_gone "$pooler"
    rm -f "$pg_folder/b/.s.PGSQL.5432"
}
work='db:set("^p", 1) local n = db:tp(function() local n = db:get "^p" db:set("^p", n + 1) return n end)'
if command -v pgbouncer >/dev/null; then
    pool session
    ask "$(pg_url b)"
    say "$work return n, db:incr '^p', db:lock({{'^p'}}, 1)"
    is '1 3 true' "PgBouncer in mode session: as without"
    quiet
    drain
    pool transaction
    for parameter in '' '?caret_prepare=0'; do
        ask "$(pg_url b)$parameter"
        say "$work return n, db:incr '^p'"
        is '1 3' "in mode transaction, which is found out $parameter"
        say "return db:lock({{'^p'}}, 1)"
        is UNSUPPORTED "and has no locks"
        is 'through a pooler' "which says why"
        quiet
    done
    pg_sql b 'show default_transaction_isolation' >"$dir/out"
    grep -q 'read committed' "$dir/out"
    note $? "others' connections have no settings of ours"
    tool "$(pg_url b)?caret_prepare=1" set '^p' 1
    refused "$(pg_url b)?caret_prepare=1" 'caret_prepare=0'
    note $? "prepared statements of another are told: $(cat "$dir/err")"
    drain
    pool transaction 2
    keep "$build/test/store_append" "$(pg_url b)" 5 300 60 && grep -q ' 0 lost, 0 twice, 0 cycles' "$dir/out"
    note $? "five programs on two connections: $(grep stored "$dir/out")"
    drain
    pool session 1
    ask "$(pg_url b)?caret_timeout=20"
    say "$work return n, db:incr '^p'"
    is '1 3' "a pooler that has no second connection to be asked"
    quiet
    drain
else
    skip "PgBouncer is not installed"
fi

# ----------------------------------------------------- restarts between calls

again() { pg_stop s immediate && pg_start s; }
ask "$url"
for chunk in 'return db:get "^a"' 'return db:set("^a", 1) and 1' 'return db:incr("^a", 0)' 'return db.node("^a"):data()' \
    'return (db:tp(function() local a = db:get "^a" db:set("^a", a) return a end))' 'return db.node("^a"):count()'; do
    again
    say "$chunk"
    is 1 "restarted, and: $chunk"
done
say 'return db:lock({{"^a"}}, 1)'
again
say 'return db:get "^a"'
is EVICTED "a lock that went with the server is told"
say 'return db:get "^a"'
is 1 "once"
echo 'return (db:tp(function() print "in it" return serve() end))' >&6
heard
say 'return db:get "^a"'
again
say 'return db:get "^a"'
is RESTART "within a transaction it is a restart"
echo end >&6
heard
is 'in it' "which begins again"
say 'return db:get "^a"'
is 1 "and reads"
echo end >&6
heard
is ended "and ends"
quiet

# -------------------------------------------------- silent servers, lost ones

pg_proxy p s
ask "$(pg_url p)?caret_timeout=4&connect_timeout=4"
say 'return db:get "^a"'
pg_tell p stall
say 'return db:get "^a"'
is 'no answer for 4 seconds' "a stalled server is given up"
say 'db:set("^a", 7)'
is IO "before the set has a connection: IO"
pg_tell p go
say 'return db:get "^a"'
is 1 "it goes on: nothing was done"
pg_tell p stall
say 'db:set("^a", 7)'
is UNKNOWN "a set on its way: UNKNOWN"
pg_tell p go
say 'local a = db:get "^a" return a == "1" or a == "7"'
is true "it was done or not"
quiet
ask "$(pg_url p)?caret_timeout=4&connect_timeout=4"
say 'db:set("^a", 1) return db:lock({{"^l"}}, 1)'
pg_tell p stall
say 'return db:lock({{"^l"}}, 1) or "no"'
is '' "a lock at a stalled server is answered: $said"
pg_tell p go
quiet
pg_proxy q nothing
pg_tell p stall
tool "$(pg_url p s)&connect_timeout=4" get '^a'
note $? "a host that does not answer is passed over: $(cat "$dir/err")"
refused "$(pg_url p)?connect_timeout=4" 'no answer for 4 seconds'
note $? "and told: $(cat "$dir/err")"
pg_tell p go
tool "$(pg_url q s)" get '^a'
note $? "a host that takes connections and ends them is passed over: $(cat "$dir/err")"

pg_sql s "create database gone" >/dev/null
ask "$(as caret gone)?connect_timeout=4"
say 'db:set("^a", 1) return db:get "^a"'
is 1 "a database"
pg_sql s "drop database gone with (force)" postgres
say 'return db:get "^a"'
is 'database "gone" does not exist' "that is dropped"
quiet

finish
