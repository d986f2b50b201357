#!/bin/sh
# What the built files show: the shared library only the functions of caret.h, a Lua
# module only its loader, neither an unresolved name of ours, and both stay loaded
# (NODELETE), since a thread of the engine may be running when a host unloads them.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need nm readelf

# expect_none what text
expect_none()
{
    [ -z "$2" ]
    note $? "$1: $2"
}

exported() { nm -D --defined-only "$1" | awk '{ print $NF }' | sort -u; }
unresolved() { nm -D --undefined-only "$1" | awk '{ print $NF }' | grep '^caret'; }
unloadable() { readelf -d "$1" | grep -q NODELETE || echo "$1"; }

library=$build/libcaret.so
public=$(sed -n 's/^CARET_API .*[ *]\(caret_[a-z0-9_]*\)(.*/\1/p' "$source/include/caret.h" | sort -u)
difference=$({ echo "$public" && exported "$library"; } | sort | uniq -u)
expect_none "not both in caret.h and exported by libcaret.so" "$difference"
expect_none "unresolved in libcaret.so" "$(unresolved "$library")"
expect_none "without NODELETE" "$(unloadable "$library")"

library=$build/yottadb/libyottadb.so
public=$(sed -n 's/^[a-z].*[ *]\(ydb_[a-z0-9_]*\)(.*/\1/p' "$source/include/yottadb/libyottadb.h" | sort -u)
difference=$({ echo "$public" && exported "$library"; } | sort | uniq -u)
expect_none "not both in libyottadb.h and exported by libyottadb.so" "$difference"
expect_none "unresolved in libyottadb.so" "$(unresolved "$library")"
expect_none "without NODELETE" "$(unloadable "$library")"

for module in "$build"/lua/*/caret.so; do
    [ -f "$module" ] || continue
    expect_none "exported by $module" "$(exported "$module" | grep -v '^luaopen_caret')"
    expect_none "unresolved in $module" "$(unresolved "$module")"
    expect_none "without NODELETE" "$(unloadable "$module")"
done

finish
