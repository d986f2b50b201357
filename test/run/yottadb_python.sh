#!/bin/sh
# The Python package yottadb, built against our prefix, and a program that uses all of it.  What was fetched and
# built is kept in the build folder, and built again when the headers have changed.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need python3 cc

prefix=$build/yottadb
cache=$build/clients/python
export ydb_dist="$prefix"

# The system's Python rather than one that wraps it: its headers are a package.
python=/usr/bin/python3
[ -x $python ] || python=python3
if ! $python -c 'import venv, sysconfig, os, sys; sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))'; then
    echo "skipped: Python's venv or headers are not installed (make deps installs them)"
    exit 77
fi

made=$(cat "$prefix"/*.h | cksum)
if [ "$(cat "$cache/made" 2>/dev/null)" != "$made" ]; then
    rm -rf "$cache"
    mkdir -p "$cache"
    if ! $python -m venv "$cache/venv" >"$cache/log" 2>&1; then
        echo "skipped: no virtual environment can be made: $(tail -n 1 "$cache/log")"
        exit 77
    elif ! timeout $((3 * patience)) "$cache/venv/bin/pip" install --retries 1 --disable-pip-version-check --no-cache-dir yottadb==2.0.1 >"$cache/log" 2>&1; then
        if grep -qE '\.[ch]:[0-9]+:[0-9]+: error|undefined reference' "$cache/log" && ! grep -q 'ffi' "$cache/log"; then
            cp "$cache/log" "$dir/out"
            note 1 "the package is built"
            finish
        fi
        echo "skipped: the package could not be fetched or built: $(grep -iE 'error|could not' "$cache/log" | head -n 1)"
        exit 77
    fi
    echo "$made" >"$cache/made"
fi

CARET_DB=$dir/python.caret keep "$cache/venv/bin/python" "$source/test/clients/client.py"
status=$?
cat "$dir/out" "$dir/err"
exit $status
