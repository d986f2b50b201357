#!/bin/sh
# libyottadb.so and the Lua module yottadb, over one library of M's semantics (front/m), answer alike: every error's number,
# name and text, every special variable, what can't be done with it, transactions and local variables.  GT.M, where it
# is installed, has the same clock.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need cc

errors=$(sed -n 's/^#define \(YDB_ERR_[A-Z0-9]*\) .*/\1/p' "$source"/include/yottadb/libydberrors*.h)
constants="YDB_TP_RESTART YDB_TP_ROLLBACK YDB_NOTOK YDB_LOCK_TIMEOUT YDB_DEFER_HANDLER
    $(sed -n 's/^#define\t\(YDB_[A-Z_]*\)\t.*/\1/p' "$source/include/yottadb/libyottadb.h" |
        grep -vE '^YDB_(INT_MAX|TP_RE|TP_RO|NOTOK|LOCK_T|DEFER)')"
variables='$HOROLOG $JOB $TLEVEL $TRESTART $ZCHSET $ZGBLDIR $ZHOROLOG $ZMAXTPTIME $ZSTATUS $ZUT $ZVERSION $ZYRELEASE'
names=$(
    for name in $variables; do
        while [ ${#name} -gt 1 ]; do
            echo "$name"
            name=${name%?}
        done
    done | awk '{ print; print tolower($0); print $0 "X" }' | sort -u
    echo '$'
)

# The same program in C and Lua prints one line per question; what differs from process to process or is a clock is not
# printed but for $HOROLOG and $ZHOROLOG, when asked.
{
    echo '#include "asks.h"'
    echo 'static const struct { const char *name; long long value; } constants[] = {'
    for name in $errors $constants; do echo "    {\"$name\", $name},"; done
    echo '};'
    echo 'static const char *const names[] = {'
    for name in $names; do echo "    \"$name\","; done
    echo '};'
    cat "$source/test/m/asks.c"
} >"$dir/asks.c"
cp "$source/test/m/asks.h" "$dir/"
{
    echo 'local constants = {'
    for name in $errors $constants; do echo "    '$name',"; done
    echo '}'
    echo 'local names = {'
    for name in $names; do echo "    '$name',"; done
    echo '}'
    cat "$source/test/m/asks.lua"
} >"$dir/asks.lua"

keep cc -std=c17 -O1 -Wall -Wextra -Werror -I"$build/yottadb" -o "$dir/asks" "$dir/asks.c" \
    -L"$build/yottadb" -lyottadb -Wl,-rpath,"$build/yottadb"
note $? "the program of questions is compiled"

# in_c environment... -- argument; in_lua the same: the answers
in_c() { env CARET_DB="$dir/c.caret" "$@" "$dir/asks" "$question"; }
in_lua() { env CARET_DB="$dir/c.caret" "$@" sh "$source/tools/lua.sh" "$lua" "$dir/asks.lua" "$question"; }

# alike what environment...
alike()
{
    what=$1
    shift
    in_c "$@" >"$dir/c" 2>"$dir/err" && in_lua "$@" >"$dir/lua" 2>>"$dir/err"
    status=$?
    diff "$dir/c" "$dir/lua" >"$dir/out"
    note $((status + $?)) "$lua: $what (C <, Lua >)"
    [ "$(wc -l <"$dir/c")" -ge "$least" ]
    note $? "$what: too few answers"
}

# A clock is read by C, Lua, C: Lua's answer is between the others.  $1: the variable, $2: the zone
clock_alike()
{
    question=$1
    { in_c "TZ=$2" && in_lua "TZ=$2" && in_c "TZ=$2"; } >"$dir/out" 2>&1
    # "day,second[,microsecond,west]" as one number that grows, and the offset
    awk -F, '{ t[NR] = $1 * 86400 + $2 + $3 / 1e6; west[NR] = $4 }
        END { exit !(NR == 3 && t[1] <= t[2] && t[2] <= t[3] && west[1] == west[2]) }' "$dir/out"
    note $? "$lua: $1 in the zone $2"
}

for lua in lua5.4 lua5.3 lua5.2 lua5.1 luajit; do
    if ! command -v "$lua" >/dev/null || ! sh "$source/tools/lua.sh" "$lua" -e 'require "yottadb"' 2>/dev/null; then
        skip "$lua or its module is not there"
        continue
    fi
    question=errors least=50
    alike "numbers, names and texts of errors and constants"
    question=special least=100
    alike "special variables"
    alike "special variables with a UTF-8 environment" ydb_chset=utf-8 ydb_maxtptime=75 "ydb_gbldir=$dir/x.gld"
    alike "special variables with other settings" gtm_chset=UTF-8 ydb_chset= ydb_maxtptime=1E1x ydb_gbldir=
    question=transactions least=20
    alike "transactions and local variables"
    clock_alike '$HOROLOG' America/New_York
    clock_alike '$ZHOROLOG' Australia/Eucla
done

for gtm_dist in "${gtm_dist:-/none}" /usr/lib/*/fis-gtm/V*; do
    [ -x "$gtm_dist/mumps" ] && break
done
if [ -x "$gtm_dist/mumps" ]; then
    export gtm_dist gtmroutines="$dir" gtmgbldir="$dir/none.gld"
    printf ' w $ZHOROLOG,!\n' >"$dir/clock.m"
    question='$ZHOROLOG'
    for zone in UTC America/New_York Australia/Lord_Howe Asia/Kolkata; do
        { in_c "TZ=$zone" && (cd "$dir" && TZ=$zone timeout 60 "$gtm_dist/mumps" -run clock) && in_c "TZ=$zone"; } >"$dir/out" 2>&1
        awk -F, '{ t[NR] = $1 * 86400 + $2 + $3 / 1e6; west[NR] = $4 }
            END { exit !(NR == 3 && t[1] <= t[2] && t[2] <= t[3] && west[1] == west[2]) }' "$dir/out"
        note $? "GT.M's clock in the zone $zone"
    done
else
    skip "GT.M (fis-gtm) is not installed"
fi
finish
