#!/bin/sh
# The Rust crate yottadb, built against our prefix, and a program that uses all of it.  What was fetched and built is
# kept in the build folder; cargo knows what to build again.  The
# list of packages (Cargo.lock) is of those that rustc 1.63, Debian 12's, compiles.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need cargo cc pkg-config

prefix=$build/yottadb
cache=$build/clients/rust
mkdir -p "$cache/src"
cp "$source/test/clients/rust/Cargo.toml" "$source/test/clients/rust/Cargo.lock" "$cache/"
cmp -s "$source/test/clients/rust/src/main.rs" "$cache/src/main.rs" ||
    cp "$source/test/clients/rust/src/main.rs" "$cache/src/"

# The crate does not look at the headers again by itself.
made=$(cat "$prefix"/*.h | cksum)
[ "$(cat "$cache/made" 2>/dev/null)" = "$made" ] || rm -rf "$cache/target/debug/build/yottadb-"* "$cache/target/debug/.fingerprint/yottadb-"*

export PKG_CONFIG_PATH="$prefix"
if ! (cd "$cache" && timeout $((4 * patience)) cargo build --locked >log 2>&1); then
    if grep -qE '^error(\[E[0-9]*\])?: .*(cannot find|mismatched|not found in)|undefined (reference|symbol)' "$cache/log"; then
        cp "$cache/log" "$dir/out"
        note 1 "the crate is built"
        finish
    fi
    echo "skipped: the crate could not be fetched or built: $(grep -iE 'error|unable|could not' "$cache/log" | head -n 1)"
    exit 77
fi
echo "$made" >"$cache/made"

CARET_DB=$dir/rust.caret LD_LIBRARY_PATH=$prefix keep "$cache/target/debug/client"
status=$?
cat "$dir/out" "$dir/err"
exit $status
