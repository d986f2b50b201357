#!/bin/sh
# A database by an address, on a PostgreSQL of its own: what it must do like one in a file (test/store/suite.sh).

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret "$build/test/judge" "$build/test/behaviour_c" "$build/test/store_append" "$build/test/store_differ" "$build/test/store_locks"
CARET_SOURCE=$source CARET_BUILD=$build sh "$source/test/with_postgres.sh" sh "$source/test/store/suite.sh"
status=$?
[ $status = 77 ] && exit 77
note $status "an address does what a file does"
finish
