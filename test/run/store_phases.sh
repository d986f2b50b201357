#!/bin/sh
# What befalls a server crossed with what a program is doing just then: each has its answer, nothing is done by halves or
# twice, and when it is over the program goes on.  test/store/phases.lua has the phases and the answers.
# CARET_TEST_FAULTS: other faults of those there.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need lua5.4 "$build/lua/5.4/caret.so"
# shellcheck source=../store/postgres.sh
. "$source/test/store/postgres.sh"

pg_begin
trap 'pg_end; rm -rf "$dir"' EXIT
pg_make s
note $? "a server"

# The program's role owns the schema; what befalls comes from another one.
pg_sql s "create role worker login password 'oak'; grant create on database caret to worker" >/dev/null
echo "local all worker scram-sha-256" | cat - "$pg_folder/s/data/pg_hba.conf" >"$dir/hba" &&
    cat "$dir/hba" >"$pg_folder/s/data/pg_hba.conf" && pg_reload s
url="$(pg_url s | sed 's|//[^@]*@|//worker:oak@|')?connect_timeout=10"

cat >"$dir/befall" <<SH
. "$source/test/store/postgres.sh"
pg_bin='$pg_bin' pg_folder='$pg_folder' pg_as='$pg_as' dir='$dir'
SH
cat >>"$dir/befall" <<'SH'
sql() { pg_sql s "$1" >"$dir/sql" 2>&1; }
end_all()
{
    sql "select pg_terminate_backend(pid, 60000) from pg_stat_activity where usename = 'worker'"
}
case $1-$2 in
ended-on) end_all ;;
restarted-on) pg_stop s immediate && pg_start s ;;
killed-on)
    PGHOST=$pg_folder/s psql -XqAt -U caret -d caret -c "select pid from pg_stat_activity where backend_type = 'walwriter'" |
        xargs kill -KILL
    up() { [ "$(pg_sql s 'select 1' 2>/dev/null)" = 1 ]; }
    sleep 0.3
    until up; do sleep 0.05; done
    ;;
readonly-on) sql "alter role worker set default_transaction_read_only = on" ;;
readonly_ended-on) sql "alter role worker set default_transaction_read_only = on" && end_all ;;
readonly-off | readonly_ended-off) sql "alter role worker reset default_transaction_read_only" ;;
password-on) sql "alter role worker password 'elm'" && end_all ;;
password-off) sql "alter role worker password 'oak'" ;;
revoked-on) sql "revoke all on all tables in schema caret from worker" ;;
revoked-off) sql "grant all on all tables in schema caret to worker" ;;
dropped-on) sql "alter schema caret rename to away" ;;
dropped-off) sql "drop schema if exists caret cascade" && sql "alter schema away rename to caret" ;;
locked-on)
    rm -f "$dir/held"
    PGHOST=$pg_folder/s psql -XqAt -U caret -d caret -c begin \
        -c "select from caret.nodes where k < '\\x77' for update" -c "\\! touch $dir/held" -c "select pg_sleep(1000)" \
        >"$dir/psql" 2>&1 9>&- &
    until [ -f "$dir/held" ]; do sleep 0.02; done
    ;;
locked-off)
    sql "select pg_terminate_backend(pid, 60000) from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()"
    ;;
timeout-on) sql "alter role worker set statement_timeout = '1ms'" && end_all ;;
timeout-off) sql "alter role worker reset statement_timeout" && end_all ;;
*-off) ;;
*) exit 1 ;;
esac
SH

for fault in ${CARET_TEST_FAULTS:-ended killed password revoked dropped locked}; do
    patience=10
    [ $fault = locked ] && patience=1 # what waits for those rows waits so long
    sh "$source/tools/lua.sh" lua5.4 "$source/test/store/phases.lua" "$url&caret_timeout=$patience" \
        "sh $dir/befall" $fault >"$dir/said" 2>&1 9>&-
    while read -r how what; do
        case $how in
        ok) note 0 "$what" ;;
        *) note 1 "$how $what" ;;
        esac
    done <"$dir/said"
    [ "$(grep -c ^ok "$dir/said")" = 10 ]
    note $? "$fault: all phases"
done

finish
