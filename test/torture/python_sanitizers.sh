#!/bin/sh
# The Python package under sanitizers.  Engine and binding are built into one module: with AddressSanitizer and
# UndefinedBehaviorSanitizer, whose runtime is loaded before the interpreter, and with clang's ThreadSanitizer (gcc's
# does not know fences), in an interpreter that is linked with it.  The tests of test/python run on both, and a few of
# them under valgrind.
#
#   CARET_PYTHON_TESTS   topics of test/python instead of all that need nothing but the package

: "${CARET_SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
# shellcheck source=../run/common.sh
. "$CARET_SOURCE/test/run/common.sh"
need cc clang setarch

python=/usr/bin/python3
include=$($python -c 'import sys, sysconfig
if sys.version_info >= (3, 11): print(sysconfig.get_paths()["include"])' 2>/dev/null)
if [ ! -f "$include/Python.h" ]; then
    echo "skipped: Python 3.11 with headers is not installed (make deps installs them)"
    exit 77
fi
: "${CARET_PYTHON_TESTS:=aio chaos data errors expiring interpreters json loops model node nomemory processes shelf transactions yottadb}"
export PYTHONDONTWRITEBYTECODE=1 PYTHONMALLOC=malloc

# build FOLDER COMPILER FLAG...: the package in $dir/FOLDER, engine and all in its module
build()
{
    made=$dir/$1
    compiler=$2
    shift 2
    mkdir -p "$made/o" && cp -r "$source/front/python/caret" "$made/" &&
        cp "$source/front/m/errors.def" "$made/caret/yottadb/" || return 1
    for layer in $(sed -n 's/^engine //p' "$source/layers"); do
        ls "$source/src/$layer/"*.c
    done >"$made/files"
    ls "$source"/front/python/*.c >>"$made/files"
    cat >"$made/one" <<ONE
exec $compiler -std=gnu17 -O1 -g1 -fPIC -pthread -D_GNU_SOURCE -DCARET_ASSERTS=1 -fno-omit-frame-pointer \
    -fvisibility=hidden $* -I"$source/include" -I"$source/src" -I"$source/front" -isystem "$include" \
    -c -o "$made/o/\$(echo "\$1" | tr / _).o" "\$1"
ONE
    xargs -P "$(nproc)" -n 1 sh "$made/one" <"$made/files" >"$dir/out" 2>"$dir/err" &&
        $compiler -shared -pthread "$@" -Wl,-z,nodelete -o "$made/caret/_core.abi3.so" "$made"/o/*.o -lm 2>"$dir/err"
}

# judged NAME COMMAND...: the tests, each by itself; a finding ends the process with another status than 0
judged()
{
    name=$1
    shift
    for one in $CARET_PYTHON_TESTS; do
        (cd "$source/test/python" && timeout $((20 * patience)) "$@" "test_$one.py" </dev/null >"$dir/out" 2>"$dir/err")
        note $? "test_$one with $name"
    done
}

build asan gcc -fsanitize=address,undefined -fno-sanitize-recover=all
note $? "the module is built with AddressSanitizer and UndefinedBehaviorSanitizer"
export PYTHONPATH="$dir/asan" ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=8 UBSAN_OPTIONS=print_stacktrace=1
with_asan="env LD_PRELOAD=$(gcc -print-file-name=libasan.so)"
# shellcheck disable=SC2086 # a list of words
! keep $with_asan $python -c 'import ctypes; ctypes.memmove(ctypes.create_string_buffer(64), b"x" * 99, 999)' &&
    grep -q AddressSanitizer "$dir/err"
note $? "it sees a copy beyond a buffer"
# shellcheck disable=SC2086
judged "AddressSanitizer" $with_asan $python

build tsan clang -fsanitize=thread
note $? "the module is built with ThreadSanitizer"
printf '#include <Python.h>\nint main(int argc, char **argv) { return Py_BytesMain(argc, argv); }\n' >"$dir/main.c"
keep clang -fsanitize=thread -isystem "$include" -o "$dir/tsan/python3" "$dir/main.c" \
    "-l$($python -c 'import sysconfig; print("python" + sysconfig.get_config_var("LDVERSION"))')"
note $? "an interpreter is linked with it"
export PYTHONPATH="$dir/tsan" TSAN_OPTIONS=exitcode=66:die_after_fork=0
PYTHONHOME=$($python -c 'import sys; print(sys.prefix)') judged "ThreadSanitizer" setarch -R "$dir/tsan/python3"

if command -v valgrind >/dev/null && [ -d "$source/build/python/caret" ]; then
    export PYTHONPATH="$source/build/python"
    CARET_PYTHON_TESTS='data json loops node'
    judged valgrind valgrind -q --error-exitcode=9 $python
else
    echo "valgrind is left out: it is not installed, or build/python is not built"
fi

finish
