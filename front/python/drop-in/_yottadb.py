"""The name _yottadb for caret.yottadb._yottadb: one module under two names."""

import sys

import caret.yottadb._yottadb

sys.modules[__name__] = caret.yottadb._yottadb
