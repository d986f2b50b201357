#!/bin/sh
# hiredis, Debian's library: a program of ours in C, synchronous, pipelined, and asynchronous with libevent's poll.

# shellcheck source=test/torture/clients/common.sh
. "$CARET_SOURCE/test/torture/clients/common.sh"
client hiredis cc
cp "$here/hiredis_program.c.txt" "$work/program.c"
cc -o "$work/program" "$work/program.c" -lhiredis 2>"$work/log" || skip "it is not installed: $(head -n 1 "$work/log")"
beside "$work/program"
finish
