#!/bin/sh
# The own tests of the client redis-py, in RESP2 and in RESP3, on servers with one, two and four workers at the same
# time.  The tests are fetched by pip and stay in build/clients/; what can't be fetched is skipped.  The release build
# is used.
#
# Some tests want the port 6379, and some open ports themselves: each server with its tests has a network of its own.
# Left out are tests that need what the server does not have, and those that fail on redis-server 7.0 too: see below.
#
#   CARET_REDIS_PY="-k stream"   are further options of pytest
#   CARET_REDIS_PY_PRESET=asan   is that build, on servers with two workers

preset=${CARET_REDIS_PY_PRESET:-release}
build=$CARET_SOURCE/build${CARET_REDIS_PY_PRESET:+-$preset}
many="1 2 4"
[ "$preset" = release ] || many=2
cache=$CARET_SOURCE/build/clients/redis-py
package=redis-5.0.8

# ------------------------------------------------ one server and its tests: redis_py.sh --run WORKERS FOLDER OPTION...

if [ "${1:-}" = --run ]; then
    folder=$3
    pids=
    # shellcheck disable=SC2086 # numbers are words
    trap '[ -z "$pids" ] || { kill $pids; wait $pids; } 2>/dev/null' EXIT
    trap 'exit 1' HUP INT TERM
    ip link set lo up || exit 1
    "$build/caret-server" "$folder/data.caret" --shm-dir "$folder" --port 6379 --workers "$2" \
        --enable-debug-command yes 2>"$folder/log" &
    pids=$!
    until "$cache/venv/bin/python" -c 'import redis; redis.Redis().ping()' 2>/dev/null; do
        kill -0 "$pids" 2>/dev/null || { cat "$folder/log" && exit 1; }
        sleep 0.05
    done
    shift 3
    cd "$folder" || exit 1
    timeout 1200 "$cache/venv/bin/python" -m pytest -q -p no:cacheprovider -o asyncio_mode=auto --timeout 120 \
        --tb=short "$@" tests &
    pids="$! $pids"
    wait $!
    exit $?
fi

# ------------------------------------------------------------------------------------- what is run, and what is not

work=$(mktemp -d "${TMPDIR:-/tmp}/caret-redis-py-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
if ! unshare -n ip link set lo up 2>"$work/log"; then
    echo "skipped: no network of its own: $(tail -n 1 "$work/log")"
    exit 0
fi
python=/usr/bin/python3
[ -x $python ] || python=python3

get_tests()
{
    [ -f "$cache/made" ] && return
    rm -rf "$cache" && mkdir -p "$cache" && $python -m venv "$cache/venv" &&
        "$cache/venv/bin/pip" install --retries 1 --no-cache-dir "redis==${package#*-}" \
            "pytest<8" "pytest-asyncio<0.24" pytest-timeout &&
        "$cache/venv/bin/pip" download --retries 1 --no-deps --no-binary redis -d "$cache" "redis==${package#*-}" &&
        tar -xzf "$cache/$package.tar.gz" -C "$cache" && touch "$cache/made"
}

if ! get_tests >"$work/log" 2>&1; then
    echo "skipped: the tests of redis-py: $(grep -iE 'error|could not|no module' "$work/log" | tail -n 1)"
    exit 0
fi
if ! { cd "$CARET_SOURCE" && cmake --preset "$preset" && cmake --build "$build" --target caret_server; } >"$work/log" 2>&1; then
    tail -n 20 "$work/log"
    exit 1
fi

# They need a cluster, modules or TLS.
set -- -m "not onlycluster and not redismod and not ssl and not graph"
for file in ssl search graph cluster asyncio/test_cluster asyncio/test_search asyncio/test_graph; do
    set -- "$@" --ignore "tests/test_$file.py"
done
# They fail on redis-server 7.0 too: they want its next version, modules or a replica.
for test in acl_getuser_setuser acl_log module module_loadex psync; do
    for file in test_commands test_asyncio/test_commands; do
        set -- "$@" --deselect "tests/$file.py::TestRedisCommands::test_$test"
    done
done

# ------------------------------------------------------------------------------------------------- in all the ways

runs=
passed=0
failed=0
bad=0
trap '[ -z "$runs" ] || { kill $runs; wait $runs; } 2>/dev/null; rm -rf "$work"' EXIT

# start PROTOCOL WORKERS OPTION...
start()
{
    folder=$work/$1-$2
    mkdir "$folder" && cp -r "$cache/$package/tests" "$folder/" || exit 1
    protocol=$1
    workers=$2
    shift 2
    # shellcheck disable=SC2086 # options are words
    unshare -n sh "$CARET_SOURCE/test/torture/redis_py.sh" --run "$workers" "$folder" --protocol="$protocol" \
        "$@" ${CARET_REDIS_PY:-} >"$folder/out" 2>&1 &
    runs="$runs $!"
}

# count PROTOCOL WORKERS: what it ended with
count()
{
    last=$(tail -n 1 "$work/$1-$2/out")
    echo "RESP$1, $2 workers: $last"
    grep -E '^(FAILED|ERROR)' "$work/$1-$2/out"
    passed=$((passed + $(echo " $last" | sed -n 's/.*[^0-9]\([0-9]*\) passed.*/\1/p;t;s/.*/0/p')))
    failed=$((failed + $(grep -cE '^(FAILED|ERROR)' "$work/$1-$2/out")))
}

for protocol in 2 3; do
    for workers in $many; do
        start $protocol $workers "$@"
    done
    for run in $runs; do
        wait "$run" || bad=1
    done
    runs=
    for workers in $many; do
        count $protocol $workers
    done
done
echo "$passed passed, $failed failed"
[ $bad = 0 ] && [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
