#!/bin/sh
# Two servers, of which the first dies under load: the short form of test/torture/store.sh.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
CARET_SOURCE=$source CARET_BUILD=$build sh "$source/test/store/failover.sh" 1
