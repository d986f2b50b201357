#!/bin/sh
# All tests in the builds of which `make test` runs a part (tools/test.sh says which).

CARET_TEST=whole exec sh "$CARET_SOURCE/tools/test.sh" small asan tsan
