#!/bin/sh
# Builds the engine and its C tests for aarch64 with Debian's cross compiler and runs the tests under qemu-user.
#
#   tools/aarch64.sh [test...]     all that can run there, or those named (as log_flush); tiny pages, as in `small`
#
# cmocka for aarch64 is fetched by apt into the build folder, with lists of its own: nothing of the system is changed.
# The last line is "N passed, N failed, N skipped", where each case counts, and each program that can't run there once.
# Exit status 77 and a reason: it can't be done here.
#
# qemu-user knows no robust mutexes (set_robust_list fails in it), so nobody is told that an owner has died: what kills
# processes in their critical sections is left to real machines.  It emulates the instructions on x86-64, whose memory is
# ordered more strictly than an aarch64 processor's: docs/memory-order.md has the argument for that.

set -u
cd "$(dirname "$0")/.." || exit 1
build=$PWD/build-aarch64
root=$build/cmocka
log=$build/test-log
mkdir -p "$root" "$log" || exit 1

cannot()
{
    echo "skipped: $1"
    exit 77
}

command -v aarch64-linux-gnu-gcc >/dev/null || cannot "no cross compiler (package gcc-aarch64-linux-gnu)"
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || cannot "no qemu (package qemu-user-static)"

# Fetch cmocka for aarch64 without telling the system's apt of another architecture.
fetch_cmocka()
{
    apt=$build/apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    set -- -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "Dir::State::lists=$apt/lists" \
        -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root
    apt-get "$@" update && (cd "$apt" && apt-get "$@" download libcmocka0:arm64 libcmocka-dev:arm64) || return 1
    for package in "$apt"/*.deb; do
        dpkg-deb -x "$package" "$root" || return 1
    done
}
libraries=$root/usr/lib/aarch64-linux-gnu
if [ ! -e "$libraries/libcmocka.so" ] && ! fetch_cmocka >"$log/fetch.log" 2>&1; then
    cannot "cmocka for aarch64 can't be fetched: $(tail -n 1 "$log/fetch.log")"
fi

if ! { cmake -G Ninja -B "$build" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake" -DCARET_AARCH64_ROOT="$root" \
    -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O2 -g -DNDEBUG" -DCARET_WERROR=ON -DCARET_SMALL=ON -DCARET_ASSERTS=ON \
    -DCARET_BENCH=OFF && cmake --build "$build"; } >"$log/build.log" 2>&1; then
    tail -n 40 "$log/build.log"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi

# Why a program can't run under qemu-user; nothing: it can.
why_not()
{
    robust="kills owners of mutexes: qemu-user has no robust mutexes"
    case $1 in
    api_torture | api_history | api_snapshot | api_stopped | api_stopped_random | copy_backup | log_big | log_flush) echo "$robust" ;;
    shm_mutex | txn_lock_death) echo "$robust" ;;
    api_step) echo "steps by ptrace, which qemu-user has not" ;;
    open_containers | open_observe) echo "runs itself by exec: needs binfmt_misc" ;;
    log_syscalls | log_powerloss | server_power) echo "takes too long when emulated" ;;
    esac
}

passed=0
failed=0
skipped=0
for program in "$build"/test/test_*; do
    name=$(basename "$program" | sed 's/^test_//')
    case " ${*:-$name} " in
    *" $name "*) ;;
    *) continue ;;
    esac
    reason=$(why_not "$name")
    if [ -n "$reason" ] && [ $# -eq 0 ]; then
        echo "  skipped $name: $reason"
        skipped=$((skipped + 1))
        continue
    fi
    timeout -k 5 200 "$qemu" -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$libraries" "$program" \
        >"$log/$name.log" 2>&1 </dev/null
    status=$?
    ok=$(grep -c '^\[ *OK \]' "$log/$name.log")
    bad=$(grep -c '^\[ *FAILED *\] [a-z_]*$' "$log/$name.log")
    left=$(grep -c '^\[ *SKIPPED *\] [a-z_]*$' "$log/$name.log")
    [ $status != 0 ] && [ "$bad" = 0 ] && bad=1
    passed=$((passed + ok))
    failed=$((failed + bad))
    skipped=$((skipped + left))
    if [ "$bad" != 0 ]; then
        echo "  FAILED $name (status $status)"
        tail -n 30 "$log/$name.log" | sed 's/^/    /'
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
