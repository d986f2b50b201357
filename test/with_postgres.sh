#!/bin/sh
# Runs a command beside a PostgreSQL of its own, whose URL is in CARET_TEST_URL, and leaves nothing of it.
#
#   sh test/with_postgres.sh [-f] [-c LINE]... COMMAND [ARGUMENT...]
#
#   -f        with fsync: what is committed is on the disk
#   -c LINE   of postgresql.conf
#
# The command also has CARET_TEST_PG, the folder of the server: `. test/store/postgres.sh; pg_bin=... pg_folder=...` is
# what it needs to stop and start it; PGHOST, PGUSER and PGDATABASE are for psql.  Where CARET_TEST_URL is set already,
# the command runs on that database, whatever it is.  Exit status: the command's, 77 without PostgreSQL.

set -u
# shellcheck source=store/postgres.sh
. "$(dirname "$0")/store/postgres.sh"

lines='synchronous_commit = on'
while [ $# -gt 0 ]; do
    case $1 in
    -f) lines="$lines
fsync = on" && shift ;;
    -c) lines="$lines
$2" && shift 2 ;;
    -*) echo "with_postgres.sh: no option $1" >&2 && exit 2 ;;
    *) break ;;
    esac
done
[ -n "${CARET_TEST_URL:-}" ] && exec "$@"

pg_begin
trap 'pg_end' EXIT
trap 'exit 1' HUP INT TERM
pg_make s "$lines" || exit 1
CARET_TEST_URL=$(pg_url s)
export CARET_TEST_URL CARET_TEST_PG="$pg_folder" PGHOST="$pg_folder/s" PGUSER="$pg_user" PGDATABASE="$pg_user"
"$@" 9>&-
