#!/bin/sh
# Sidekiq, Debian's: a program of ours.

# shellcheck source=test/torture/clients/common.sh
. "$CARET_SOURCE/test/torture/clients/common.sh"
client sidekiq ruby sidekiq
beside sh -c "exec ruby -W0 '$here/sidekiq_program.rb' 2>/dev/null"
finish
