#!/bin/sh
# `caret web` over 10,000 refreshes, which is a day of a page that is looked at now and then: no memory stays.

# shellcheck source=../run/common.sh
. "$CARET_SOURCE/test/run/common.sh"
need caret python3
export CARET="$caret" CARET_REFRESHES=10000 PYTHONDONTWRITEBYTECODE=1
XDG_STATE_HOME=$dir/state
export XDG_STATE_HOME
keep python3 "$source/test/web/test_live.py" Live.test_thousands_of_refreshes_keep_no_memory
note $? "memory after 10,000 refreshes"
finish
