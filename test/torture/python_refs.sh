#!/bin/sh
# References of the Python package: its tests again and again in a debug build of CPython (Debian's python3-dbg), with a
# module that counts them.  A test that leaves some each time fails.

: "${CARET_SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
# shellcheck source=../run/common.sh
. "$CARET_SOURCE/test/run/common.sh"

if ! python3-dbg -c 'import sys; sys.gettotalrefcount()' 2>/dev/null; then
    echo "skipped: there is no debug build of Python here (Debian's python3-dbg)"
    exit 77
fi
if [ ! -f "$source/build/libcaret.a" ] || [ ! -d "$source/build/python/caret" ]; then
    echo "skipped: build the release preset first"
    exit 77
fi

include=$(python3-dbg -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
mkdir "$dir/python" && cp -r "$source/build/python/caret" "$dir/python/" && rm "$dir"/python/caret/_core*.so
keep cc -std=gnu17 -O1 -g -fPIC -shared -pthread -D_GNU_SOURCE -DPy_DEBUG -fvisibility=hidden -Wl,-z,nodelete \
    -I"$source/include" -I"$source/src" -I"$source/front" -isystem "$include" -o "$dir/python/caret/_core.abi3.so" \
    "$source"/front/python/*.c "$source/build/libcaret.a" -lm
note $? "the module is built for the debug build"

export PYTHONPATH=$dir/python PYTHONDONTWRITEBYTECODE=1
cd "$source/test/python" || exit 1
for one in aio data errors expiring json loops node processes shelf transactions yottadb; do
    keep python3-dbg refs.py "test_$one"
    note $? "references of test_$one"
done

finish
