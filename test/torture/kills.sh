#!/bin/sh
# Eight workers are killed one by one, then all at once with a reopening, then at every fault point and again
# in the repair.  CARET_KILLS of them (100,000), a tenth as many reopenings: 20 minutes; CARET_SEED starts the chance.

"$CARET_BUILD/test/test_api_torture" "${CARET_KILLS:-$((100000 * CARET_TORTURE))}" "${CARET_SEED:-$(date +%s)}"
