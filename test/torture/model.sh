#!/bin/sh
# The models with the parameters that take longest, too.

export CARET_MODEL=all
exec sh "$CARET_SOURCE/model/run.sh"
