#!/bin/sh
# The Python package beside what it works with, in a virtual environment with the newest of each: type checkers,
# Hypothesis, gunicorn, Django, cachelib, Flask-Session, aiocache, py-lmdb.  They come from PyPI.  Then what Django,
# cachelib and aiocache test their own caches with, on those of caret.contrib; it is in their sdists.

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
    mypy pyright pytest pytest-asyncio pytest-mock pytest-xprocess marshmallow >"$dir/out" 2>"$dir/err"; then
    echo "skipped: the registry does not give the packages: $(tail -n 1 "$dir/err")"
    exit 77
fi

export PYTHONPATH="$source/build/python" PYTHONDONTWRITEBYTECODE=1 HOME="$dir"
for one in typing model gunicorn expiring docs migrating; do
    (cd "$source/test/python" && timeout $((10 * patience)) "$dir/venv/bin/python" "test_$one.py" </dev/null >"$dir/out" 2>"$dir/err")
    note $? "test_$one"
    ! grep -o 'skipped=.*' "$dir/err" || echo "  of test_$one"
done

# sdist PACKAGE: the sdist of what is installed, unpacked in $dir/PACKAGE
sdist()
{
    version=$("$dir/venv/bin/python" -c "import importlib.metadata; print(importlib.metadata.version('$1'))")
    mkdir -p "$dir/$1" && timeout $((10 * patience)) "$dir/venv/bin/pip" -q download --no-deps \
        --no-binary "$1" -d "$dir/$1" "$1==$version" >"$dir/out" 2>"$dir/err" &&
        tar -xzf "$dir/$1"/*.tar.gz -C "$dir/$1" --strip-components=1
}

# own PACKAGE COMMAND...: in its folder
own()
{
    name=$1
    shift
    (cd "$dir/$name" && timeout $((10 * patience)) "$@" </dev/null >"$dir/out" 2>"$dir/err")
    note $? "the own tests of $name: $(cat "$dir/out" "$dir/err" | grep -E '^Ran |[0-9]+ passed' | tail -n 1)"
}

judges=$source/test/python/judges
for one in django cachelib aiocache; do
    sdist $one
    note $? "the sdist of $one"
done
own django "$dir/venv/bin/python" "$judges/django_own.py" "$dir/django/tests"
cp "$judges/test_cachelib_own.py" "$dir/cachelib/tests/"
own cachelib "$dir/venv/bin/python" -m pytest -q -p no:cacheprovider -p no:asyncio -c /dev/null --rootdir . \
    tests/test_cachelib_own.py

# Not those that want the same object back, not a copy, nor a method of dict.
cp "$judges/aiocache_conftest.py" "$dir/aiocache/tests/acceptance/conftest.py"
own aiocache "$dir/venv/bin/python" -m pytest -q -p no:cacheprovider -c /dev/null --rootdir . -o asyncio_mode=auto \
    -o asyncio_default_fixture_loop_scope=function \
    -k 'not redis and not Redis and not memcached and not Memcached and not TestNullSerializer and not test_raw' \
    tests/acceptance

finish
