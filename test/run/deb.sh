#!/bin/sh
# Debian packages (`make deb`), installed by dpkg in a root of its own: the system as it is below an overlay that takes
# what is written, with an empty /usr/local and /tmp.  The tool, every Lua and programs in C count in one database.
# Then the packages are removed and purged, and the overlay tells what they left: nothing.
#
# CARET_DEB=whole: the packages that users get, looked at by lintian, and below the overlay a new root: Debian's
# smallest system and what is tried here, fetched from where this machine fetches packages (test/torture/deb.sh).

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need dpkg-buildpackage dh git ninja pkg-config lua5.4
packages="caret caret-yottadb libcaret0 libcaret-dev lua-caret"
whole=
if [ "${CARET_DEB-}" = whole ]; then
    need mmdebstrap lintian
    whole=1
    patience=$((patience * 10))
fi

leave()
{
    echo "skipped: $1"
    exit 77
}
git -C "$source" rev-parse >/dev/null 2>&1 || leave "git does not say which files are the tree's"
for v in 5.1 5.2 5.3 5.4; do
    [ -e "/usr/include/lua$v/lua.h" ] || leave "the headers of Lua $v are not installed"
done
# shellcheck disable=SC2086 # several words
if [ -z "$whole" ] && dpkg -l $packages 2>/dev/null | grep -q '^i'; then
    leave "the packages are installed here"
fi

# ---- what runs in the new root
cat >"$dir/inside" <<'END'
try()
{
    what=$1
    shift
    if "$@" >/tmp/out 2>&1; then
        echo "ok: $what"
    else
        echo "FAILED: $what ($?)"
        cat /tmp/out
    fi
}
count=0
counts()
{
    what=$1
    shift
    count=$((count + 1))
    try "$what runs" "$@"
    try "$what counts to $count" test "$(cat /tmp/out)" = $count
}
fails() { ! "$@"; }
packages=$*
luas=
for lua in lua5.1 lua5.2 lua5.3 lua5.4 luajit; do
    command -v $lua >/dev/null && luas="$luas $lua"
done
export CARET_DB=/usr/local/users.caret ydb_gbldir=/usr/local/users.caret
cd /usr/local/try || exit 1

try "dpkg installs the packages" dpkg -i debs/*.deb
counts "the tool" caret incr '^users'
for lua in $luas; do
    counts "$lua" $lua program.lua
done
try "a program finds the library" gcc program.c -o shared $(pkg-config --cflags --libs caret)
counts "a program with the shared library" ./shared
try "a program takes the static library" gcc program.c -o static -Wl,-Bstatic $(pkg-config --cflags --libs caret) \
    -Wl,-Bdynamic -lm -pthread
counts "a program with the static library" ./static
PKG_CONFIG_PATH=$(dirname "$(dpkg -L caret-yottadb | grep '/yottadb.pc$')")
export PKG_CONFIG_PATH
try "a program finds libyottadb" gcc yottadb.c -o yottadb $(pkg-config --cflags --libs yottadb)
counts "a program for YottaDB" ./yottadb
try "the database is sound" caret check

try "dpkg removes the packages" dpkg --remove $packages
try "the tool is gone" fails test -e /usr/bin/caret
for lua in $luas; do
    try "$lua does not find the module" fails $lua program.lua
done
try "the program does not find the library" fails ./shared
counts "the program that has it inside" ./static
try "dpkg purges the packages" dpkg --purge $packages
try "dpkg knows none of them" fails dpkg-query -W $packages
try "the database stays" test -s $CARET_DB
echo "ok: the end"
END
cat >"$dir/program.lua" <<'END'
local db = assert(require "caret".open(os.getenv "CARET_DB"))
assert(require "yottadb".set and require "caret.cache".new)
io.write(db:incr("^users"))
assert(db:close())
END
cat >"$dir/program.c" <<'END'
#include <caret.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    caret_db *db;
    caret_session *s;
    caret_node_buf n;
    caret_slice v;
    if (caret_open(getenv("CARET_DB"), NULL, &db) || caret_session_open(db, &s) ||
        caret_node_var(&n.node, sizeof n, "^users", 6) || caret_incr(s, &n.node, "1", 1, &v)) {
        fprintf(stderr, "%s\n", caret_message());
        return 1;
    }
    printf("%.*s", (int)v.len, v.data);
    caret_session_close(s);
    return caret_close(db);
}
END
cat >"$dir/yottadb.c" <<'END'
#include <libyottadb.h>
#include <stdio.h>
int main(void)
{
    char text[64];
    ydb_buffer_t users, sum = {sizeof text, 0, text};
    YDB_LITERAL_TO_BUFFER("^users", &users);
    int rc = ydb_incr_s(&users, 0, NULL, NULL, &sum);
    printf("%.*s", (int)sum.len_used, sum.buf_addr);
    return rc;
}
END

# ---- what makes that root, goes there, and looks what is left in the overlay, but for the records of dpkg and the
# caches that other packages keep of what is installed
cat >"$dir/outside" <<'END'
top=$1 lower=$2 from=$3
shift 3
mount -t tmpfs tmpfs "$top" && mkdir "$top/upper" "$top/work" "$top/root" &&
    mount -t overlay overlay -o "lowerdir=$lower,upperdir=$top/upper,workdir=$top/work" "$top/root" || exit 77
cd "$top/root" && mount -t tmpfs tmpfs usr/local && mount -t tmpfs tmpfs tmp && mkdir usr/local/try || exit 77
mount --rbind /proc proc && mount --rbind /dev dev || exit 77
cp -r "$from/debs" "$from/inside" "$from/program.lua" "$from/program.c" "$from/yottadb.c" usr/local/try
chroot . /usr/bin/env -i HOME=/usr/local PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LC_ALL=C \
    DEBIAN_FRONTEND=noninteractive sh /usr/local/try/inside "$@" || exit 1
cd "$top/upper" && find . | while read -r path; do
    case $path in
    ./var/lib/dpkg/info/*caret*) ;;
    ./var/lib/dpkg/* | ./var/log/dpkg.log | ./etc/ld.so.cache | ./var/cache/ldconfig/* | ./var/cache/man/*) continue ;;
    esac
    [ -d "$path" ] && [ ! -L "$path" ] && [ -d "$lower/$path" ] || echo "left: $path"
done
END

# ---- the packages
mkdir "$dir/debs" "$dir/top"
set -- --quick "$build"
[ -n "$whole" ] && set --
before=$(cd "$source" && git status --porcelain)
keep sh "$source/tools/deb.sh" "$@" "$dir/deb"
status=$?
note $status "the packages are built${whole:+, and lintian finds no fault}"
[ $status -eq 0 ] || finish
[ "$(cd "$source" && git status --porcelain)" = "$before" ]
note $? "nothing is left in the tree"
for package in $packages; do
    mv "$dir/deb/${package}"_[0-9]*.deb "$dir/debs"
    note $? "there is a package $package"
done
dpkg-deb -c "$dir"/debs/caret_*.deb >"$dir/out"
for file in man/man1/caret.1.gz bash-completion/completions/caret zsh/vendor-completions/_caret \
    fish/vendor_completions.d/caret.fish; do
    grep -q "/usr/share/$file\$" "$dir/out"
    note $? "the tool comes with $file"
done

# ---- the root
lower=/
if [ -n "$whole" ]; then
    lower=$dir/tmp/root
    keep mmdebstrap --quiet --variant=minbase --mode=root \
        --include=gcc,libc6-dev,pkg-config,libedit2,lua5.1,lua5.2,lua5.3,lua5.4,luajit \
        "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" "$lower"
    note $? "a new root"
fi
# shellcheck disable=SC2086 # several words
timeout "$patience" unshare -m sh "$dir/outside" "$dir/top" "$lower" "$dir" $packages >"$dir/told" 2>"$dir/err" </dev/null
status=$?
if [ $status -eq 77 ] || grep -q '^unshare:' "$dir/err"; then
    leave "no overlay can be mounted here: $(tail -n 1 "$dir/err")"
fi
note $status "the root of its own"
while read -r line; do
    case $line in
    ok:*) passed=$((passed + 1)) && continue ;;
    FAILED:* | left:*) failed=$((failed + 1)) ;;
    esac
    echo "$line"
done <"$dir/told"
grep -qx 'ok: the end' "$dir/told"
note $? "everything was tried"
finish
