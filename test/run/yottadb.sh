#!/bin/sh
# libyottadb.so as users meet it: found by pkg-config, with headers that C and C++ compilers take without a word,
# and with the numbers of the table of errors.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need cc pkg-config

export PKG_CONFIG_PATH="$build/yottadb"
cat >"$dir/p.c" <<'C'
#include <libyottadb.h>

static int body(void *arg)
{
    ydb_buffer_t name;
    char room[16];
    ydb_buffer_t sum = {sizeof room, 0, room};

    (void)arg;
    YDB_LITERAL_TO_BUFFER("^count", &name);
    return ydb_incr_s(&name, 0, NULL, NULL, &sum);
}

int main(void)
{
    char text[100];
    ydb_buffer_t name, value = {sizeof text, 0, text};
    int same;

    if (ydb_tp_s(body, NULL, "BATCH", 0, NULL) != YDB_OK || ydb_tp_s(body, NULL, "", 0, NULL) != YDB_OK)
        return 1;
    YDB_STRING_TO_BUFFER("^count", &name);
    if (ydb_get_s(&name, 0, NULL, &value) != YDB_OK)
        return 1;
    YDB_LITERAL_TO_BUFFER("2", &name);
    same = YDB_BUFFER_IS_SAME(&name, &value);
    YDB_ASSERT(same) /* a block, which needs no semicolon */
    if (!same)
        YDB_FREE_BUFFER(&value)
    return ydb_exit();
}
C
cp "$dir/p.c" "$dir/p.cc"

# shellcheck disable=SC2046 # options
keep cc -std=c99 -Wall -Wextra -pedantic -Werror $(pkg-config --cflags yottadb) -o "$dir/p" "$dir/p.c" $(pkg-config --libs yottadb)
note $? "a C99 program is compiled as pkg-config says"
CARET_DB=$dir/c.caret keep "$dir/p"
note $? "and runs"
[ -f "$dir/c.caret" ] && [ ! -f "$dir/c.caret-log" ]
note $? "its database is one file at the end"
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046 # options
    keep c++ -std=c++11 -Wall -Wextra -Werror $(pkg-config --cflags yottadb) -o "$dir/pp" "$dir/p.cc" $(pkg-config --libs yottadb)
    note $? "a C++ program is compiled too"
    CARET_DB=$dir/cc.caret keep "$dir/pp"
    note $? "and runs"
else
    skip "there is no C++ compiler"
fi

# Made from the one table, and as they would be made now.
mkdir "$dir/made" && sh "$source/tools/errors.sh" "$dir/made"
for header in libydberrors.h libydberrors2.h; do
    keep cmp "$source/include/yottadb/$header" "$dir/made/$header"
    note $? "$header is not what tools/errors.sh makes of front/m/errors.def: run it"
done

finish
