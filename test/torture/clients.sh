#!/bin/sh
# The own tests of clients of YottaDB, at their newest versions, on our library: the Python package yottadb and the
# crate yottadb.  They are fetched by pip and cargo and stay in build/clients/; what can't be fetched is skipped.
# The release build is used, as keys of the small one are too short for them.
#
# Left out are tests that want another thing on purpose (docs/yottadb.md), or what a client does not ship;
# all others have to pass.

build=$CARET_SOURCE/build
cache=$build/clients
export ydb_dist="$build/yottadb" PKG_CONFIG_PATH="$build/yottadb" LD_LIBRARY_PATH="$build/yottadb"
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/caret-clients-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$cache"
if ! { cd "$CARET_SOURCE" && cmake --preset release && cmake --build build --target caret_yottadb caret_m_module; } >"$work/log" 2>&1; then
    tail -n 20 "$work/log"
    exit 1
fi

# outcome STATUS LOG: of tests that have run
outcome()
{
    grep -E '^(FAILED|ERROR)|^test .*FAILED' "$2"
    grep -E '^test result|[0-9]+ passed' "$2"
    [ "$1" = 0 ] || failed=1
}

# ------------------------------------------------------------------------ Python

python=/usr/bin/python3
[ -x $python ] || python=python3
package=yottadb-2.0.1

get_python()
{
    [ -f "$cache/own/made" ] && return
    rm -rf "$cache/own"
    $python -m venv "$cache/own/venv" &&
        "$cache/own/venv/bin/pip" install --retries 1 --no-cache-dir --no-binary yottadb "yottadb==${package#*-}" \
            pytest psutil requests &&
        "$cache/own/venv/bin/pip" download --retries 1 --no-deps --no-binary yottadb -d "$cache/own" \
            "yottadb==${package#*-}" &&
        tar -xzf "$cache/own/$package.tar.gz" -C "$cache/own" && touch "$cache/own/made"
}

if get_python >"$work/log" 2>&1; then
    cp -r "$cache/own/$package/tests" "$work/tests"
    cp -r "$CARET_SOURCE/test/clients/python/." "$work/tests/"
    # shellcheck disable=SC2046 # several words
    set -- $(sed -n 's,^test,--deselect tests/test,p' "$CARET_SOURCE/test/clients/python/left_out.txt")
    (cd "$work" && CARET_DB=$work/python.caret timeout 600 "$cache/own/venv/bin/python" -m pytest -q \
        -p no:cacheprovider tests "$@") >"$work/log" 2>&1
    outcome $? "$work/log"
else
    echo "skipped: the Python package: $(grep -iE 'error|could not|no module' "$work/log" | tail -n 1)"
fi

# -------------------------------------------------------------------------- Rust

get_crate()
{
    mkdir -p "$cache/crate" "$work/rust/src" && cp "$CARET_SOURCE"/test/clients/rust/Cargo.* "$work/rust/" &&
        cp "$CARET_SOURCE/test/clients/rust/src/main.rs" "$work/rust/src/" &&
        manifest=$(cd "$work/rust" && cargo metadata --locked --format-version 1 |
            grep -oE '"manifest_path":"[^"]*/yottadb-[0-9][^"/]*/Cargo.toml"' | head -n 1 | cut -d'"' -f4) &&
        [ -f "$manifest" ] && cp -r "$(dirname "$manifest")/." "$cache/crate/" &&
        (cd "$cache/crate" && cargo test --locked --lib --tests --no-run)
}

if command -v cargo >/dev/null && get_crate >"$work/log" 2>&1; then
    (cd "$cache/crate" && CARET_DB=$work/rust.caret timeout 600 cargo test --locked --lib --tests \
        --no-fail-fast) >"$work/log" 2>&1
    outcome $? "$work/log"
else
    echo "skipped: the crate: $(grep -E '^error|unable|could not' "$work/log" | head -n 1)"
fi
[ $failed = 0 ]
