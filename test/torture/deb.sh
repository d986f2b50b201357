#!/bin/sh
# Debian packages as users get them, looked at by lintian, in a root that has nothing but Debian's smallest system and
# what is tried there (test/run/deb.sh); two minutes.

CARET_DEB=whole sh "$CARET_SOURCE/test/run/deb.sh"
status=$?
[ "$status" = 77 ] || exit "$status"
