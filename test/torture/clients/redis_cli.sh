#!/bin/sh
# redis-cli, as a person and as scripts use it: interactive in a terminal, with help; its modes.

# shellcheck source=test/torture/clients/common.sh
. "$CARET_SOURCE/test/torture/clients/common.sh"
client redis-cli script
beside sh "$here/redis_cli_program.sh"
finish
