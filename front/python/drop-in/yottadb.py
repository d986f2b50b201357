"""The name yottadb for caret.yottadb: one module under two names."""

import sys

import caret.yottadb

sys.modules[__name__] = caret.yottadb
