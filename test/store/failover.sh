#!/bin/sh
# A primary and its standby: the primary is killed under load, the standby promoted, again and again.
#
#   sh test/store/failover.sh ROUNDS [cuts]
#
# Programs append to lists (append.c) by an address with both servers.  With synchronous replication nothing that was
# acknowledged is lost, and nothing is there twice.  With asynchronous replication what the standby had not got is lost,
# and has to be seen as lost: so it is seen that the first would be.  With `cuts` all comes together: there is a bad network
# before both, which loses requests, answers, and delivers late, connections are ended at the server, programs are killed,
# and 2,500 appends are acknowledged in each round, so 20 rounds have 50,000.

CARET_OWN_MEMORY=1 # a test that runs this sees to it
# shellcheck source=../run/common.sh
. "$(dirname "$0")/../run/common.sh"
CARET_OWN_MEMORY=
need "$build/test/store_append" "$build/test/proxy"
# shellcheck source=postgres.sh
. "$source/test/store/postgres.sh"
rounds=$1
cuts=${2:-}

pg_begin
trap 'pg_end; rm -rf "$dir"' EXIT

# url server server
url() { pg_url "$@"; }

stored() { pg_sql "$1" "select count(*) from caret.nodes" 2>"$dir/sql"; }

# more server [nodes]: until so many more are stored there than before, so that programs have got on
more()
{
    before=$(stored "$1")
    more=${2:-20}
    grown() { [ "$(stored "$1")" -gt $((${before:-0} + more)) ]; }
    soon grown "$1"
}

make_pair()
{
    pg_make a 'synchronous_commit = on' && pg_copy b a "synchronous_standby_names = ''"
}

begin()
{
    "$build/test/store_append" "$(url "$@")" 4 1000000 3600 >"$dir/append" 2>"$dir/append.err" 9>&- 8>&- 7>&- &
    appending=$!
    soon grep -q ready "$dir/append"
}

end()
{
    kill -TERM $appending
    wait $appending
    status=$?
    cat "$dir/append" "$dir/append.err" >"$dir/out"
    said=$(grep stored "$dir/append")
}

used() { [ "$(grep -c 'in use' "$dir/append")" = "$asked" ]; }

# fail_over PRIMARY STANDBY: and the other way round is what there is then.  When it is in use is measured by the
# programs that use it: to look from here takes longer than what is measured.
fail_over()
{
    asked=$(($(grep -c 'in use' "$dir/append") + 1))
    pg_kill "$1" || return 1
    kill -USR2 $appending
    killed=$(date +%s%N)
    pg_promote "$2" || return 1
    promoted=$(date +%s%N)
    soon used || return 1
    echo "  promoted $(((promoted - killed) / 1000000)) ms after its death, $(grep 'in use' "$dir/append" | tail -n 1)"
}

# ------------------------------------------------------------- synchronous

make_pair && pg_sync a
note $? "a primary with a synchronous standby"
if [ "$cuts" ]; then
    pg_proxy pa a && pg_proxy pb b
    begin pa pb
else
    begin a b
fi

# harm: another way of losing what is said, and ended connections
harm()
{
    [ "$cuts" ] || return
    for proxy in pa pb; do
        case $((round % 3)) in
        0) pg_tell $proxy 'request 40' ;;
        1) pg_tell $proxy 'reply 40' ;;
        2) pg_tell $proxy 'late 40' ;;
        esac
    done
    pg_sql "$1" "select pg_terminate_backend(pid) from pg_stat_activity where application_name <> 'psql'
        and backend_type = 'client backend' and pid <> pg_backend_pid()" >"$dir/ended"
    kill -USR1 $appending
    more "$1" $((2 * each)) # an append is two nodes
}

each=2500
round=0
primary=a
standby=b
failed_over=0
while [ $round -lt "$rounds" ]; do
    more $primary
    harm $primary
    fail_over $primary $standby && failed_over=$((failed_over + 1))
    round=$((round + 1))
    other=$primary
    primary=$standby
    standby=$other
    [ $round -lt "$rounds" ] && pg_copy $standby $primary "synchronous_standby_names = ''" && pg_sync $primary
done
[ $failed_over = "$rounds" ]
note $? "$failed_over times the standby took over"
end
note $status "synchronous: nothing is lost or done twice: $said"
[ -z "$cuts" ] || [ "${said%% *}" -ge $((rounds * each)) ]
note $? "as many are acknowledged as were to be: $said"
echo "  $said"
echo "  $(tail -n 1 "$dir/append")"

# ------------------------------------------------------------ asynchronous

pg_stop a immediate
pg_stop b immediate
rm -rf "$pg_folder/a" "$pg_folder/b"
make_pair
begin a b
more a
pg_unfollow b
more a
fail_over a b
end
[ $status = 1 ] && ! grep -q ' 0 lost' "$dir/append"
note $? "asynchronous: the loss is seen: $said"

finish
