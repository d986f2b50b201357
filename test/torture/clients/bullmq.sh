#!/bin/sh
# BullMQ, from npm: it ships no tests, so a program of ours.

# shellcheck source=test/torture/clients/common.sh
. "$CARET_SOURCE/test/torture/clients/common.sh"
client bullmq node npm
install() { npm init -y && npm install --no-audit --no-fund --ignore-scripts bullmq ioredis; } # which it loads by itself
fetch
cp "$here/bullmq.mjs" "$cache/"
beside node "$cache/bullmq.mjs"
finish
