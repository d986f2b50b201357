#!/bin/sh
# Run a test, and note what it may have left behind: what nobody had made in /dev/shm and the folder for temporary
# files before it began.  tools/test.sh looks at the notes when all is over.
#
#   tools/watched.sh name command...    CARET_LEAVINGS: the file of the notes; without it nothing is noted

name=$1
shift
[ -n "${CARET_LEAVINGS-}" ] || exec "$@"
left()
{
    for folder in /dev/shm "${TMPDIR:-/tmp}"; do
        find "$folder" -maxdepth 1 \( -name 'caret*' -o -name 'lua_*' \) 2>/dev/null
    done | sort
}
before=$(mktemp) || exec "$@"
left >"$before"
"$@"
status=$?
left | comm -13 "$before" - | sed "s|\$| $name|" >>"$CARET_LEAVINGS"
rm -f "$before"
exit "$status"
