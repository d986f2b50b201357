#!/bin/sh
# tools/errors.sh [FOLDER]: writes libydberrors.h and libydberrors2.h, by default those of include/yottadb, from the table
# front/m/errors.def.  To be run after a change there; test/run/yottadb.sh compares.

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
folder=${1:-$root/include/yottadb}

# numbers part: the definitions of one part of the table
numbers()
{
    sed -n "s/^M_ERROR($1, \([A-Z0-9]*\), \(-[0-9]*\), \".*\")\$/#define YDB_ERR_\1 \2/p" "$root/front/m/errors.def"
}

cat >"$folder/libydberrors.h" <<HEAD || exit 1
/*
 * libydberrors.h - the numbers of M's errors, negative as functions return them.
 *
 * The last three bits of a number's magnitude are the severity.  One definition a line, each with single spaces:
 * wrappers read this file.  Made by tools/errors.sh from the project's table of errors.
 */
#ifndef CARET_LIBYDBERRORS_H
#define CARET_LIBYDBERRORS_H

/* clang-format off */

$(numbers 1)

/* clang-format on */

#endif
HEAD

cat >"$folder/libydberrors2.h" <<HEAD
/*
 * libydberrors2.h - the numbers of errors that came with YottaDB.  Made by tools/errors.sh.
 */
#ifndef CARET_LIBYDBERRORS2_H
#define CARET_LIBYDBERRORS2_H

/* clang-format off */

$(numbers 2)

/* clang-format on */

#endif
HEAD
