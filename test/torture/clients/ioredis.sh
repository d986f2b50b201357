#!/bin/sh
# ioredis, from npm: it ships no tests, so a program of ours.

# shellcheck source=test/torture/clients/common.sh
. "$CARET_SOURCE/test/torture/clients/common.sh"
client ioredis node npm
install() { npm init -y && npm install --no-audit --no-fund --ignore-scripts ioredis@5; }
fetch
cp "$here/ioredis.mjs" "$cache/"
beside node "$cache/ioredis.mjs"
finish
