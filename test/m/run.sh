#!/bin/sh
# Conformance of M: run.sh [FILE.list...] runs these, or all of conf/, with caret-m. 77: skipped.
#
# CARET_BUILD is the folder of the build, CONF_TABLE=1 prints a line for each file, CONF_KEEP=1 keeps the folders.
set -u
here=$(cd "$(dirname "$0")" && pwd)
program=${CARET_BUILD:-$here/../../build}/caret-m
[ -x "$program" ] || { echo "caret-m is not built" && exit 77; }
for lua in luajit lua5.4 lua; do command -v $lua >/dev/null && break; done
command -v $lua >/dev/null || { echo "Lua is not installed" && exit 77; }
program=$(realpath "$program")
[ $# -gt 0 ] || set -- "$here"/conf/*.list
exec $lua "$here/conf.lua" check "$program" "$@"
