# shellcheck shell=sh disable=SC2034,SC2154 # what the others use, and have
# A program that has a database by an address open and does what it is told (ask.lua); sourced after common.sh.
#
#   ask URL [readonly]    begin it; its process is $asked
#   say CHUNK             a chunk of Lua: what it answers is in $said
#   is TEXT WHAT          a case: that has the text
#   heard                 wait for its next line
#   quiet                 end it

ask()
{
    [ -p "$dir/chunks" ] || mkfifo "$dir/chunks"
    : >"$dir/said"
    lines=0
    sh "$source/tools/lua.sh" lua5.4 "$source/test/store/ask.lua" "$@" <"$dir/chunks" >"$dir/said" 2>&1 9>&- 8>&- 7>&- &
    asked=$!
    exec 6>"$dir/chunks"
    heard
}
heard()
{
    lines=$((lines + 1))
    more() { [ "$(wc -l <"$dir/said")" -ge $lines ]; }
    soon more
    said=$(sed -n "${lines}p" "$dir/said")
}
say() { echo "$1" >&6 && heard; }
# a server that was started meanwhile has the descriptor too: so the program is told
quiet() { echo end >&6 && exec 6>&-; wait $asked; }
# is TEXT WHAT: what was said has the text
is()
{
    case $said in
    *"$1"*) note 0 "$2" ;;
    *) echo "said: $said" && note 1 "$2" ;;
    esac
}
