#!/bin/sh
# README's commands, as they stand there, one after the other, in a root of their own: the system as it is below an
# overlay that takes what is written, an empty home and /usr/local, and no variable of ours.  Each either runs here or
# is among those that do not, with the reason: a new one that is neither fails the test.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret lua5.4 cmake make awk
if [ "$build" != "$source/build" ]; then
    echo "skipped: README's commands use the release build in build/"
    exit 77
fi

# Indented lines outside of fences, without what is said of them.
awk '/^```/ { fence = !fence } !fence && /^    [a-z]/ { sub(/^    /, ""); sub(/  +#.*/, ""); print }' "$source/README.md" \
    >"$dir/commands"
awk '/^```lua$/ { on = 1; next } /^```/ { on = 0 } on' "$source/README.md" >"$dir/program.lua"
awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$source/README.md" >"$dir/forest.c"
[ "$(wc -l <"$dir/commands")" -gt 15 ] && [ -s "$dir/program.lua" ] && [ -s "$dir/forest.c" ]
note $? "README has commands and programs"

# why_not command: why it does not run here; nothing: it does
why_not()
{
    case $1 in
    luarocks* | eval*luarocks* | find*.o*) echo "run/install has luarocks compile the module" ;;
    cmake*build-c*) echo "it compiles the engine once more" ;;
    'make demo' | 'make test' | 'make rivals') echo "it installs packages" ;;
    'make deb') echo "run/deb makes them" ;;
    *--rivals*) echo "run/rivals compares" ;;
    'caret top') echo "it shows pictures until it is ended: run/inspect" ;;
    esac
}

# What runs in the new root; it goes there by exec.
cat >"$dir/inside" <<'END'
cd "$1" || exit 1
command -v sudo >/dev/null || { printf '#!/bin/sh\nexec "$@"\n' >/usr/local/bin/sudo && chmod +x /usr/local/bin/sudo; }
cp /readme/program.lua /readme/forest.c .
while read -r command; do
    echo "== $command"
    sh -c "$command" </dev/null || echo "FAILED ($?): $command"
done </readme/run
./a.out
echo "the end"
END

: >"$dir/run"
while read -r command; do
    reason=$(why_not "$command")
    [ -n "$reason" ] && skip "$command: $reason"
    [ -n "$reason" ] || echo "$command" >>"$dir/run"
done <"$dir/commands"

cat >"$dir/outside" <<'END'
top=$1
mount -t tmpfs tmpfs "$top" && mkdir "$top/upper" "$top/work" "$top/root" &&
    mount -t overlay overlay -o "lowerdir=/,upperdir=$top/upper,workdir=$top/work" "$top/root" || exit 77
cd "$top/root" && mount -t tmpfs tmpfs usr/local && mkdir usr/local/bin usr/local/home readme || exit 77
mount --rbind /proc proc && mount --rbind /dev dev || exit 77
[ -d "./$2" ] || exit 77
cp "$3/program.lua" "$3/forest.c" "$3/run" "$3/inside" readme/
exec chroot . /usr/bin/env -i HOME=/usr/local/home PATH=/usr/local/bin:/usr/bin:/bin TERM=dumb sh /readme/inside "$2"
END
mkdir "$dir/top"
timeout "$patience" unshare -m sh "$dir/outside" "$dir/top" "$source" "$dir" >"$dir/out" 2>"$dir/err" </dev/null
status=$?
if [ $status -eq 77 ] || grep -q '^unshare:' "$dir/err"; then
    echo "skipped: no overlay can be mounted here: $(tail -n 1 "$dir/err")"
    exit 77
fi
note $status "the root of its own"
while read -r command; do
    grep -qxF "== $command" "$dir/out" && ! grep -qF "): $command" "$dir/out"
    note $? "$command"
done <"$dir/run"
for said in 15.5 quercus '^oaks(1,"shadow")="10.5"' 'the end'; do
    grep -qxF "$said" "$dir/out"
    note $? "somebody says $said"
done
finish
