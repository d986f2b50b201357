#!/bin/sh
# tools/syntax.sh BUILD [JOBS]: looks for warnings in all files of src/ and front/ that BUILD, a folder which is
# configured, has commands for but no objects of.  None is made: warnings cost a fifth of code.  A file that is compiled
# for several versions of Lua is looked at once; tests and benchmarks are left to the other compiler.
#
# The exit status is 0 if nothing was said; else that is printed, below its command.

set -u
self=$(realpath "$0")
build=$(cd "$1" && pwd) || exit 2
jobs=${2:-2}
cd "$build" || exit 2

# one command: as CMake writes it
one()
{
    object=${1##* -o } object=${object%% -c *}
    [ -f "$object" ] && return
    said=$(eval "${1%% -o *} -fsyntax-only ${1##* -c }" 2>&1) && [ -z "$said" ] && return
    printf '%s\n%s\n' "$1" "$said"
    return 1
}

if [ "${3-}" = --one ]; then
    one "$4"
    exit
fi

# What is generated is there before anything is compiled.
# shellcheck disable=SC2046 # several words
ninja $(ninja -t targets all | sed -n 's/^\(generated\/[^:]*\): CUSTOM_COMMAND$/\1/p') >/dev/null || exit 1

awk '
/^ *"command": / { command = $0; sub(/^ *"command": "/, "", command); sub(/",$/, "", command) }
/^ *"file": / && /\/(src|front)\// && !/\/(test|bench)\// && !seen[$0]++ {
    gsub(/\\"/, "\"", command)
    gsub(/\\\\/, "\\", command)
    printf "%s%c", command, 0
}' compile_commands.json | xargs -0 -n 1 -P "$jobs" sh "$self" "$build" "$jobs" --one
