#!/bin/sh
# node-redis, from npm: it ships no tests, so a program of ours.

# shellcheck source=test/torture/clients/common.sh
. "$CARET_SOURCE/test/torture/clients/common.sh"
client node_redis node npm
install() { npm init -y && npm install --no-audit --no-fund --ignore-scripts redis; }
fetch
cp "$here/node_redis.mjs" "$cache/"
beside node "$cache/node_redis.mjs"
finish
