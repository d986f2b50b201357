#!/bin/sh
# The Python package beside what it works with, in a virtual environment with the newest of each: type checkers,
# Hypothesis, gunicorn, Django, cachelib, Flask-Session, aiocache, py-lmdb.  They come from PyPI.

: "${CARET_SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
# shellcheck source=../run/common.sh
. "$CARET_SOURCE/test/run/common.sh"

if [ ! -d "$source/build/python/caret" ] || ! python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
then
    echo "skipped: build/python is not built, or there is no Python 3.11 with venv"
    exit 77
fi
keep python3 -m venv "$dir/venv"
note $? "a virtual environment"
if ! timeout $((10 * patience)) "$dir/venv/bin/pip" -q install hypothesis gunicorn django cachelib flask-session aiocache lmdb \
    mypy pyright >"$dir/out" 2>"$dir/err"; then
    echo "skipped: the registry does not give the packages: $(tail -n 1 "$dir/err")"
    exit 77
fi

export PYTHONPATH="$source/build/python" PYTHONDONTWRITEBYTECODE=1 HOME="$dir"
for one in typing model gunicorn expiring docs migrating; do
    (cd "$source/test/python" && timeout $((10 * patience)) "$dir/venv/bin/python" "test_$one.py" </dev/null >"$dir/out" 2>"$dir/err")
    note $? "test_$one"
    ! grep -o 'skipped=.*' "$dir/err" || echo "  of test_$one"
done

finish
