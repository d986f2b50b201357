#!/bin/sh
# The writer is stopped at every hit of every fault point while others read.

CARET_STOPS=all "$CARET_BUILD/test/test_api_stopped"
