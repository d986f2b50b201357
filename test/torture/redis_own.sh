#!/bin/sh
# Redis' own tests, from Debian's source package of redis: on redis-server, and on servers with one, two and four
# workers.  What passes there has to pass here, but for the cases of redis_own.txt, each with its reason.  In two ways:
#
#   external   all files, on one server that is there already (tests that need replication or a server of their own
#              are left out by the tests themselves)
#   own        the files that start servers with a configuration of their own: users, passwords, limits ...; their
#              src/redis-server is this script, which starts ours
#
# The package is fetched by apt-get and stays in build/clients/; where it can't be had the test is skipped, with the
# reason.  The release build is used.  A file with a case that fails is run once more: its cases look at clocks.
#
#   CARET_REDIS_OWN="unit/auth unit/type/list"   only these files
#   CARET_REDIS_OWN_WAYS="external"              only this way
#   CARET_REDIS_OWN_WORKERS="2"                  only so many workers
#   CARET_REDIS_OWN_KEEP=FOLDER                  what the tests print stays there

here=$CARET_SOURCE/test/torture
cache=$CARET_SOURCE/build/clients/redis-own
port=6379

# ----------------------------------- in the place of src/redis-server: redis_own.sh --server CONFIGURATION ARGUMENT...

# The tests look into its output for what Redis says there: its number, and that it is ready.
if [ "${1:-}" = --server ]; then
    shift
    configuration=$1
    [ -f "$configuration" ] && shift || configuration=/dev/null
    folder=$(sed -n 's/^dir "*\([^"]*\)"*$/\1/p' "$configuration")
    echo "$$:M Port: 0 PID: $$"
    export CARET_DB="${folder:-.}/data.caret"
    exec "$CARET_SOURCE/build/caret-server" --shm-dir "${folder:-.}" --config "$configuration" \
        --workers "$CARET_WORKERS" "$@" 2>&1
fi

# ------------------------------------------- one server and its tests: redis_own.sh --run WAY WORKERS FOLDER UNIT...

# A server with $workers workers, or redis-server if that is 0.
start_server()
{
    rm -rf "$folder/data" && mkdir "$folder/data" || exit 1
    if [ "$workers" = 0 ]; then
        redis-server --port $port --dir "$folder/data" --save '' --enable-debug-command yes >>"$folder/log" 2>&1 &
    else
        "$CARET_SOURCE/build/caret-server" "$folder/data/data.caret" --shm-dir "$folder/data" --port $port \
            --workers "$workers" --enable-debug-command yes >>"$folder/log" 2>&1 &
    fi
    pids=$!
    until redis-cli -p $port ping >"$folder/ping" 2>&1; do
        kill -0 "$pids" 2>/dev/null || { cat "$folder/log" && exit 1; }
        sleep 0.05
    done
}

end_server()
{
    # shellcheck disable=SC2086 # numbers are words
    [ -z "$pids" ] || { kill $pids; wait $pids; } 2>/dev/null
    pids=
}

# test_file UNIT OPTION...: the lines "UNIT: NAME" of what passes go to $folder/passed
test_file()
{
    unit=$1
    shift
    TERM=dumb timeout -k 5 1200 tclsh tests/test_helper.tcl --single "$unit" --durable --timeout 120 --clients 1 \
        --tags -needs:repl "$@" >"$folder/out" 2>&1 </dev/null &
    pids="$! $pids"
    wait $! || :
    pids=${pids#* }
    cat "$folder/out" >>"$folder/all"
    sed -n "s|^\[ok\]: \(.*\) ([0-9]* ms)\$|$unit: \1|p" "$folder/out" | sed 's/  */ /g' >>"$folder/passed"
    ! grep -Eq '^\[(TIMEOUT|err|exception)\]' "$folder/out"
}

if [ "${1:-}" = --run ]; then
    way=$2 workers=$3 folder=$4
    shift 4
    pids=
    trap 'end_server' EXIT
    trap 'exit 1' HUP INT TERM
    ip link set lo up && cd "$folder" || exit 1
    for unit in "$@"; do
        if [ "$way" = own ]; then
            CARET_WORKERS=$workers test_file "$unit"
            continue
        fi
        [ -n "$pids" ] || start_server
        test_file "$unit" --host 127.0.0.1 --port $port || end_server # which may have kept what the test had set
    done
    exit 0
fi

# ------------------------------------------------------------------------------------------------- what is to be run

skip()
{
    echo "skipped: $1"
    exit 0
}

work=$(mktemp -d "${TMPDIR:-/tmp}/caret-redis-own-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
for program in tclsh redis-server redis-cli redis-benchmark; do
    command -v $program >/dev/null || skip "$program is not installed"
done
unshare -n ip link set lo up 2>"$work/log" || skip "no network of its own: $(tail -n 1 "$work/log")"
version=$(redis-server --version | sed -n 's/.* v=\([0-9.]*\).*/\1/p')

# Where apt-get knows no source packages it is told of them here, by lists of its own.
fetch_source()
{
    apt-get source --download-only redis && return
    mkdir -p lists/partial &&
        sed -n 's/^deb \(.*\)/deb-src \1/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list >source.list
    cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed 's/^Types:.*/Types: deb-src/' >source.sources
    for list in source.list source.sources; do
        [ -s $list ] || continue
        set -- -o Dir::Etc::SourceList="$PWD/$list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$PWD/lists"
        apt-get "$@" update && apt-get "$@" source --download-only redis && return
    done
    return 1
}

get_tests()
{
    [ -d "$cache/redis-$version/tests" ] && return
    rm -rf "$cache" && mkdir -p "$cache" && cd "$cache" && fetch_source && tar -xzf redis_*.orig.tar.gz &&
        [ -d "redis-$version/tests" ]
}

(get_tests) >"$work/log" 2>&1 || skip "the source package of redis $version: $(grep . "$work/log" | tail -n 1)"
if ! { cd "$CARET_SOURCE" && cmake --preset release && cmake --build build --target caret_server; } >"$work/log" 2>&1; then
    tail -n 20 "$work/log"
    exit 1
fi

# Files about replicas, a cluster, files of RDB and AOF, and Redis' own memory have no server to speak of here.
external=$(cd "$cache/redis-$version" && tclsh tests/test_helper.tcl --list-tests |
    grep -v -e /cluster -e /replication -e /psync -e '/block-repl$' -e '/failover$')
own="unit/auth unit/acl unit/acl-v2 unit/networking unit/obuf-limits unit/client-eviction unit/limits unit/multi
    unit/maxmemory unit/introspection unit/introspection-2 unit/info unit/other unit/scripting unit/functions
    unit/pause unit/expire unit/bitfield unit/dump unit/pendingquerybuf unit/querybuf unit/pubsubshard unit/tracking
    unit/type/stream-cgroups unit/memefficiency unit/wait unit/protocol unit/latency-monitor unit/slowlog
    unit/replybufsize unit/violations unit/shutdown unit/oom-score-adj integration/logging integration/redis-cli
    integration/redis-benchmark"

# ------------------------------------------------------------------------------------------------ in all the ways

# run WAY WORKERS UNIT...
run()
{
    folder=$work/$1-$2
    mkdir -p "$folder/src" && cp -r "$cache/redis-$version/tests" "$folder/" && mkdir -p "$folder/tests/tmp" || exit 1
    : >"$folder/passed"
    for program in redis-cli redis-benchmark redis-server redis-check-aof redis-check-rdb; do
        ln -sf "$(command -v $program)" "$folder/src/"
    done
    if [ "$2" != 0 ]; then
        rm "$folder/src/redis-server"
        printf '#!/bin/sh\nexec sh "%s/redis_own.sh" --server "$@"\n' "$here" >"$folder/src/redis-server"
        chmod +x "$folder/src/redis-server"
    fi
    # shellcheck disable=SC2086 # units are words
    unshare -n sh "$here/redis_own.sh" --run "$1" "$2" "$folder" $3 &
    job=$!
    trap 'kill $job 2>/dev/null; wait $job; exit 1' HUP INT TERM
    wait $job
}

known()
{
    grep -v '^#' "$here/redis_own.txt" | grep . | sort
}

# missing WAY WORKERS: what passes on redis-server and not there, nor is known to
missing()
{
    sort "$work/$1-0/passed" >"$work/there"
    sort "$work/$1-$2/passed" | comm -23 "$work/there" - >"$work/not-here"
    known | comm -23 "$work/not-here" -
}

passed=0
failed=0
for way in ${CARET_REDIS_OWN_WAYS:-external own}; do
    [ "$way" = own ] && units=$own || units=$external
    units=${CARET_REDIS_OWN:-$units}
    run "$way" 0 "$units"
    for workers in ${CARET_REDIS_OWN_WORKERS:-1 2 4}; do
        run "$way" "$workers" "$units"
        again=$(missing "$way" "$workers" | sed 's/: .*//' | sort -u | tr '\n' ' ')
        if [ -n "$again" ]; then
            mv "$work/$way-$workers" "$work/first"
            run "$way" "$workers" "$again"
            for unit in $again; do
                grep -v "^$unit: " "$work/first/passed" >"$work/others"
                mv "$work/others" "$work/first/passed"
            done
            cat "$work/first/passed" >>"$work/$way-$workers/passed"
            cat "$work/first/all" >>"$work/$way-$workers/all"
            rm -rf "$work/first"
        fi
        missing "$way" "$workers" >"$work/bad"
        bad=$(wc -l <"$work/bad")
        echo "$way, $workers workers: $(wc -l <"$work/$way-$workers/passed") pass, on redis-server" \
            "$(wc -l <"$work/there"); not here $(wc -l <"$work/not-here"), of which unknown $bad"
        sed 's/^/    /' "$work/bad"
        passed=$((passed + $(wc -l <"$work/$way-$workers/passed")))
        failed=$((failed + bad))
    done
done
if [ -n "${CARET_REDIS_OWN_KEEP:-}" ]; then
    mkdir -p "$CARET_REDIS_OWN_KEEP"
    for folder in "$work"/*-*/; do
        cp "$folder/all" "$CARET_REDIS_OWN_KEEP/$(basename "$folder").log"
        cp "$folder/passed" "$CARET_REDIS_OWN_KEEP/$(basename "$folder").passed"
    done
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
