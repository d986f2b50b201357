#!/bin/sh
# tools/api.sh: prints front/m/api.def, the list of caret.h's functions.  tools/api.sh >front/m/api.def after a change there.
cd "$(dirname "$0")/.." || exit 1
sed '/^M_API/,$d' front/m/api.def
sed -n 's/^CARET_API .*[ *]\(caret_[a-z0-9_]*\)(.*/M_API(\1)/p' include/caret.h | sort -u
