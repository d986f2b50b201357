#!/bin/sh
# caret.c, the whole engine as one file, optimised as far as a compiler goes, without a warning (test/run/install.sh).

CARET_TEST=whole sh "$CARET_SOURCE/test/run/install.sh"
status=$?
[ "$status" = 77 ] || exit "$status"
