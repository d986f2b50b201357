#!/bin/sh
# The long form of test/run/web_page.sh: every form and state before a reader of screens, every
# view by keys alone, several windows, thousands of frames of scrolling, and a day of looking as 10,000 refreshes. The
# release build is used, as figures of speed are told.
cd "$CARET_SOURCE" || exit 1
cmake --preset release >/dev/null && cmake --build build --target caret_tool >/dev/null || exit 1
CARET_LONG=1 CARET_BUILD="$CARET_SOURCE/build" sh test/run/web_page.sh
status=$?
[ $status -eq 77 ] || exit $status
