#!/bin/sh
# The npm package mg-dbx-napi, which is compiled already, against YottaDB's own headers: it loads our library.  Its
# transactions are left out: it loses their answers when they come too soon (docs/yottadb.md).

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need node npm

version=1.6.17
cache=$build/clients/node
if [ "$(cat "$cache/made" 2>/dev/null)" != $version ]; then
    rm -rf "$cache"
    mkdir -p "$cache"
    if ! (cd "$cache" && echo '{"private": true}' >package.json &&
        timeout $((2 * patience)) npm install --fetch-retries=0 --no-audit --no-fund mg-dbx-napi@$version >log 2>&1); then
        echo "skipped: the package could not be fetched: $(grep -i 'error' "$cache/log" | head -n 1)"
        exit 77
    fi
    echo $version >"$cache/made"
fi
cp "$source/test/clients/client.mjs" "$cache/"

export ydb_dist="$build/yottadb" CARET_DB="$dir/node.caret"
keep node "$cache/client.mjs"
status=$?
cat "$dir/out"
grep -v '^$' "$dir/err"
[ $status = 0 ] || grep -q 'passed' "$dir/out" || {
    echo "skipped: the package does not load here: $(tail -n 1 "$dir/err")"
    grep -qE 'ERR_DLOPEN|not supported|SyntaxError' "$dir/err" && exit 77
}
exit $status
