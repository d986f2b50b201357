#!/bin/sh
# The wheels of `make wheel`, installed where nothing else is: in a virtual environment of each Python from 3.11 on that
# is here, with the cases of test/behaviour and the tests of test/python.  Registries are asked when they are built.

: "${CARET_SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
# shellcheck source=../run/common.sh
. "$CARET_SOURCE/test/run/common.sh"

judge=${CARET_BUILD:-$source/build}/test/judge
[ -x "$judge" ] || judge=$source/build/test/judge
if [ ! -x "$judge" ] || ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    echo "skipped: test/judge is not built, or Python's venv is not installed"
    exit 77
fi
if [ -z "$(ls "$source"/build/wheel/*.whl 2>/dev/null)" ]; then
    keep sh "$source/tools/wheel.sh"
    note $? "make wheel"
fi

# Not those for what only the checkout has, and what needs a package besides.
tests='data errors expiring loops node processes shelf transactions'

for python in /usr/bin/python3.1[1-9] "${HOME:-/}"/.pyenv/versions/3.1[1-9]*/bin/python; do
    [ -x "$python" ] || continue
    rm -rf "$dir/venv"
    keep "$python" -m venv "$dir/venv"
    keep "$dir/venv/bin/pip" install --no-index --find-links "$source/build/wheel" caretdb-yottadb
    note $? "pip takes the wheel of $python"
    keep "$judge" "$source"/test/behaviour/*.txt -- "$dir/venv/bin/python" "$source/test/behaviour/run.py"
    note $? "behaviour in $python"
    for one in $tests; do
        (cd "$source/test/python" && keep "$dir/venv/bin/python" -B "test_$one.py")
        note $? "$one in $python"
    done
    (cd "$dir" && keep "$dir/venv/bin/python" -c 'import yottadb, _yottadb, caret.yottadb
assert yottadb.Node is caret.yottadb.Node')
    note $? "YDBPython's names in $python"
done

finish
