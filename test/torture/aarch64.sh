#!/bin/sh
# The C tests, built for aarch64, under qemu.

sh "$CARET_SOURCE/tools/aarch64.sh"
status=$?
[ "$status" = 77 ] || exit "$status"
