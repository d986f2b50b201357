#!/bin/sh
# The own tests of the Python package yottadb 2.0.1 on caret.yottadb, instead of that package.  They are fetched by pip
# and stay in build/clients/; what can't be fetched is skipped.  Left out are those that clients.sh leaves out, and six
# that call M: caret.yottadb has none (docs/migrating/ydbpython.md).

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
cp -r "$CARET_SOURCE/test/clients/python/." "$work/tests/"
# shellcheck disable=SC2046 # several words
set -- $(sed -n 's,^test,--deselect tests/test,p' "$CARET_SOURCE/test/clients/python/left_out.txt")
for test in __yottadb.py::test_lock_incr __yottadb_validation.py::test_ci_input _yottadb.py::test_ci_table \
    _yottadb.py::test_ci_default _yottadb.py::test_cip _yottadb.py::test_locks; do
    set -- "$@" --deselect "tests/test$test"
done
cd "$work" && CARET_DB=$work/python.caret PYTHONPATH=$CARET_SOURCE/front/python/drop-in:$build/python \
    timeout 600 "$cache/venv/bin/python" -m pytest -q -p no:cacheprovider tests "$@" >"$work/log" 2>&1
status=$?
grep -E '^(FAILED|ERROR)' "$work/log"
tail -n 1 "$work/log"
passed=$(grep -oE '[0-9]+ passed' "$work/log" | tail -n 1 | cut -d' ' -f1)
[ $status = 0 ] && [ "${passed:-0}" -ge 540 ]
