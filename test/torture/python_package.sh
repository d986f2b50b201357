#!/bin/sh
# The Python package is built from an sdist with a C compiler and nothing else, far from the checkout, and works.  The
# wheel serves each Python from 3.11 on that is here.  No registry is asked.

: "${CARET_SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
# shellcheck source=../run/common.sh
. "$CARET_SOURCE/test/run/common.sh"
need cc

python=/usr/bin/python3
if ! $python -c 'import setuptools, wheel, venv, sysconfig, os, sys
sys.exit(sys.version_info < (3, 11) or not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' 2>/dev/null; then
    echo "skipped: Python 3.11 with headers, setuptools and wheel is not installed (make deps installs them)"
    exit 77
fi

# What a build without the GIL compiles, with the headers of one that has it, and a pyconfig.h that says as its own does
# that there is none; such a Python is in no registry of ours.
for headers in /usr/include/python3.1[3-9] "${HOME:-/}"/.pyenv/versions/3.1[3-9]*/include/python3.1*; do
    [ -f "$headers/Python.h" ] || continue
    rm -rf "$dir/free"
    cp -r "$headers" "$dir/free" && echo '#define Py_GIL_DISABLED 1' >>"$dir/free/pyconfig.h"
    for file in "$source"/front/python/*.c; do
        cc -fsyntax-only -std=gnu17 -Wall -Wextra -Werror -D_GNU_SOURCE -I"$source/include" \
            -I"$source/src" -I"$source/front" -isystem "$dir/free" "$file" || break
    done >"$dir/out" 2>"$dir/err" && [ ! -s "$dir/err" ]
    note $? "it compiles for Python without the GIL, with $headers"
done

# A copy, as building leaves files beside the sources.
mkdir "$dir/checkout"
(cd "$source" && tar --exclude=front/python/build -cf - layers LICENSE include src front/m/errors.def front/python) |
    tar -xf - -C "$dir/checkout"
cd "$dir/checkout/front/python" || exit 1
keep $python setup.py -q sdist -d "$dir/dist"
note $? "an sdist is made"

cd "$dir" || exit 1
mkdir unpacked && tar -xzf dist/caretdb-*.tar.gz -C unpacked && rm -rf checkout
cd unpacked/caretdb-* || exit 1
CFLAGS=-O0 timeout $((5 * patience)) $python setup.py -q bdist_wheel -d "$dir/dist" >"$dir/out" 2>"$dir/err" </dev/null
note $? "a wheel is made of it"
cd "$dir" || exit 1

ls dist/*-cp311-abi3-linux_*.whl >"$dir/out" 2>&1
note $? "it is one for all versions"
$python -m zipfile -l dist/*.whl | awk 'NR > 1 { print $1 }' | grep -v dist-info | grep -vE '^caret/([a-z_]*\.pyi?|py\.typed|_core\.abi3\.so|contrib/[a-z_]*\.py|yottadb/([a-z_]*\.py|errors\.def))$' >"$dir/out"
[ ! -s "$dir/out" ]
note $? "nothing else is in it"
$python -m zipfile -e dist/*.whl installed
nm -D --defined-only installed/caret/_core.abi3.so | awk '$3 != "PyInit__core"' >"$dir/out"
[ ! -s "$dir/out" ]
note $? "it shows one symbol"

for one in /usr/bin/python3.1[1-9] "${HOME:-/}"/.pyenv/versions/3.1[1-9]*/bin/python; do
    [ -x "$one" ] || continue
    PYTHONPATH=$dir/installed keep "$one" -W error -c 'import caret
with caret.open("x.caret") as db:
    assert db["^n"].incr(5) and db["^n"].tree() == "5" and db["^n"].json() == "5"
    db["^n"].kill()'
    note $? "it works in $one"
done

finish
