#!/bin/sh
# Run M on fis-gtm, the other implementation that we compare with, in a folder and with a database of its own.
#
#   oracle.sh x 'CODE' ['CODE' ...]        each argument is a line of one routine, after a `:` one with a label
#   oracle.sh run FILE.m [FILE.m ...] [-- ENTRY [ARGUMENT ...]]
#   oracle.sh in FOLDER ENTRY [ARGUMENT ...]
#
# x and run use a new folder that is removed afterwards; `in` uses routines of FOLDER and leaves all there. Output is
# written as YottaDB writes it: %YDB- for %GTM-, LVUNDEF for UNDEF. Environment: ORACLE_RAW=1 leaves the output as it is,
# ORACLE_CHSET=UTF-8 chooses that mode, ORACLE_SECONDS the limit (60). Status 77: fis-gtm is not installed.
set -u
gtm_dist=
for candidate in "${gtm_dist_of_oracle:-}" /usr/lib/*/fis-gtm/V*_*; do
    [ -x "$candidate/mumps" ] && gtm_dist=$candidate
done
[ -n "$gtm_dist" ] || { echo "fis-gtm is not installed" >&2 && exit 77; }
chset=${ORACLE_CHSET:-M}
[ "$chset" = UTF-8 ] && [ -d "$gtm_dist/utf8" ] && gtm_dist=$gtm_dist/utf8
export gtm_dist gtm_chset="$chset" gtm_side_effects=1 gtm_boolean=1 gtm_lct_stdnull=1 LC_ALL=C.UTF-8
if [ "$chset" = UTF-8 ]; then # the version is in the name of the library
    gtm_icu_version=$(find /usr/lib -name 'libicuio.so.*.*' 2>/dev/null | sed -n 's/.*so\.//p' | head -1)
    export gtm_icu_version
fi
unset ydb_dist ydb_gbldir gtm_etrap gtm_prompt
export gtmgbldir=g.gld gtmroutines=". $gtm_dist/libgtmutil.so"

database()
{
    [ -f g.dat ] && return
    "$gtm_dist/mumps" -run GDE >gde.out 2>&1 <<END
change -segment DEFAULT -file=g.dat
change -segment DEFAULT -block_size=32256
change -region DEFAULT -record_size=1048576 -key_size=1019 -stdnullcoll
exit
END
    "$gtm_dist/mupip" create >>gde.out 2>&1 || { cat gde.out >&2 && exit 1; }
}

errors=1 # where its messages go: `in` leaves them apart

# As YottaDB writes it, where it has another name, text or severity.
written()
{
    if [ -n "${ORACLE_RAW:-}" ]; then cat; else
        sed -e 's/%GTM-\([A-Z]\)-UNDEF,/%YDB-\1-LVUNDEF,/g' -e 's/%GTM-/%YDB-/g' -e 's/,-GTM-/,-YDB-/g' \
            -e 's/-E-UNDEF,/-E-LVUNDEF,/g' -e 's/%YDB-E-INVCMD,/%YDB-W-INVCMD,/g' \
            -e 's/, Quit does not return to an extrinsic/, QUIT\/ZHALT does not return to an extrinsic/g' \
            -e 's/, Merge operation not possible.  \(.*\) is descendent of /, MERGE operation not possible. \1 is a descendant of /g' \
            -e 's/, Intended rollback(\([0-9]*\)) deeper than the current $tlevel(/, Intended rollback (\1) deeper than the current $tlevel (/g'
    fi
}

inside()
{
    database
    { timeout "${ORACLE_SECONDS:-60}" "$gtm_dist/mumps" -run "$@" 2>&"$errors"
      echo $? >status.out; } | written
    read -r status <status.out
    return "$status"
}

case ${1:-} in
in)
    errors=2
    cd "$2" || exit 1
    shift 2
    inside "$@"
    exit ;;
x | run) ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM
if [ "$1" = x ]; then
    shift
    { echo "x ;" && for line in "$@"; do printf ' %s\n' "$line" | sed 's/^ ://'; done; } >"$folder/x.m"
    cd "$folder" && inside x </dev/null
    exit
fi
shift
entry=
while [ $# -gt 0 ]; do
    [ "$1" = -- ] && shift && break
    cp "$1" "$folder/" || exit 1
    [ -n "$entry" ] || entry=$(basename "$1" .m)
    shift
done
[ $# -gt 0 ] || set -- "$entry"
cd "$folder" && inside "$@"
