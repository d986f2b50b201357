#!/bin/sh
# Databases by an address, the long form: the suite with 1,000 seeds; 50,000 acknowledged appends while twenty primaries
# die, requests and answers are lost, requests are late, connections are ended and programs killed; as many under stalls
# and restarts of one server.  Mistakes of the driver are found: commits without tokens, reads that the server does not
# know of (builds with fault points).

# shellcheck source=../run/common.sh
. "$(dirname "$0")/../run/common.sh"
need "$build/test/test_store_crowd" "$build/test/proxy" "$build/test/store_append" "$build/test/test_api_history"
times=${CARET_TORTURE:-1}
export CARET_SOURCE="$source" CARET_BUILD="$build"
# shellcheck source=../store/postgres.sh
. "$source/test/store/postgres.sh"

# part what command...
part()
{
    what=$1
    shift
    "$@" >"$dir/out" 2>"$dir/err"
    note $? "$what"
    grep -E 'acknowledged|sessions, and|longest pause|alike|histories:|ms after' "$dir/out" | sed "s/^ */  $what: /"
}

part "suite" sh "$source/test/with_postgres.sh" sh "$source/test/store/suite.sh" long
part "a thousand sessions" env CARET_TEST_SESSIONS=1050 sh "$source/test/with_postgres.sh" -c 'max_connections = 1010' \
    "$build/test/test_store_crowd"
part "all that befalls a server" env \
    CARET_TEST_FAULTS='restarted killed readonly readonly_ended password revoked dropped locked timeout ended' \
    sh "$source/test/run/store_phases.sh"
part "failovers" sh "$source/test/store/failover.sh" $((20 * times)) cuts

# -------------------------------------------------- one server, a bad network

pg_begin
trap 'pg_end; rm -rf "$dir"' EXIT
pg_make s && pg_proxy p s
note $? "a server with a bad network before it"

# trouble: until the program has ended, one kind after the other
trouble()
{
    while kill -0 "$1" 2>/dev/null; do
        for kind in 'request 30' 'reply 30' 'late 30'; do
            pg_tell p "$kind"
            sleep 2
            pg_tell p off
            pg_tell p cut
            pg_tell p stall
            sleep 0.5
            pg_tell p go
        done
        pg_stop s immediate
        pg_start s
    done
}

"$build/test/store_append" "$(pg_url p)" 6 $((50000 * times)) $((600 * times)) >"$dir/out" 2>"$dir/err" 9>&- 8>&- 7>&- &
pid=$!
soon grep -q ready "$dir/out"
trouble $pid
wait $pid
note $? "appends under cuts, stalls and restarts: $(grep stored "$dir/out")"
sed 's/^/  appends: /' "$dir/out"

export CARET_TEST_URL
CARET_TEST_URL=$(pg_url p)
CARET_HISTORY=$((20 * times)) CARET_HISTORY_KILLS=1 timeout 300 "$build/test/test_api_history" >"$dir/out" 2>"$dir/err" 9>&- 8>&- 7>&- &
pid=$!
trouble $pid
wait $pid
note $? "histories under the same, with processes killed: $(grep -h histories: "$dir/out" "$dir/err")"

# mistake NAME: it is found
mistake()
{
    CARET_HISTORY_MISTAKE=$1 timeout 300 "$build/test/test_api_history" >"$dir/out" 2>"$dir/err"
    status=$?
    if grep -q 'skipped: this build' "$dir/out" "$dir/err"; then
        skip "$1: this build has no fault points"
    else
        note $status "$1 is found"
    fi
}
CARET_TEST_URL=$(pg_url s)
mistake store_reads_unseen
CARET_TEST_URL=$(pg_url p)
pg_tell p 'reply 20'
mistake store_no_token

finish
