#!/bin/sh
# The own tests of the Python package yottadb 2.0.1 on caret.yottadb, instead of that package.  They are fetched by pip
# and stay in build/clients/; what can't be fetched is skipped.  Left out are tests that need M, the network, a file that
# is not shipped, or 16 GiB of memory, and test_fatal_signal, which wants exit codes of YottaDB's signal handlers.

build=$CARET_SOURCE/build
cache=$build/clients/drop-in
package=yottadb-2.0.1
work=$(mktemp -d "${TMPDIR:-/tmp}/caret-ydbpython-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
export ydb_dist="$build/yottadb" LD_LIBRARY_PATH="$build/yottadb"
if ! { cd "$CARET_SOURCE" && cmake --preset release && cmake --build build --target caret_python caret_yottadb; } >"$work/log" 2>&1; then
    tail -n 20 "$work/log"
    exit 1
fi
python=/usr/bin/python3
[ -x $python ] || python=python3

get_tests()
{
    [ -f "$cache/made" ] && return
    rm -rf "$cache" && mkdir -p "$cache" && $python -m venv "$cache/venv" &&
        "$cache/venv/bin/pip" install --retries 1 --no-cache-dir pytest psutil requests &&
        "$cache/venv/bin/pip" download --retries 1 --no-deps --no-binary yottadb -d "$cache" "yottadb==${package#*-}" &&
        tar -xzf "$cache/$package.tar.gz" -C "$cache" && touch "$cache/made"
}

if ! get_tests >"$work/log" 2>&1; then
    echo "skipped: the tests of YDBPython: $(grep -iE 'error|could not|no module' "$work/log" | tail -n 1)"
    exit 0
fi
cp -r "$cache/$package/tests" "$work/tests"
cp "$CARET_SOURCE/test/clients/python/conftest.py" "$work/tests/"
set --
for test in __yottadb.py::test_lock_incr __yottadb_validation.py::test_ci_input \
    _yottadb.py::test_ci_table _yottadb.py::test_ci_default _yottadb.py::test_cip _yottadb.py::test_locks \
    _yottadb.py::test_no_ydb_gbldir _yottadb.py::test_deserialize_JSON _yottadb.py::test_manipulate_JSON_in_place \
    _wordfreq.py::test_wordfreq __yottadb_validation.py::test_unsigned_int_length_bytes_overflow \
    _fatal_signal.py::test_fatal_signal; do
    set -- "$@" --deselect "tests/test$test"
done
cd "$work" && CARET_DB=$work/python.caret PYTHONPATH=$CARET_SOURCE/front/python/drop-in:$build/python \
    timeout 600 "$cache/venv/bin/python" -m pytest -q -p no:cacheprovider tests "$@" >"$work/log" 2>&1
status=$?
grep -E '^(FAILED|ERROR)' "$work/log"
tail -n 1 "$work/log"
passed=$(sed -n 's/.*[^0-9]\([0-9]*\) passed.*/\1/p' "$work/log" | tail -n 1)
[ $status = 0 ] && [ "${passed:-0}" -ge 540 ]
