/*
 * libydberrors.h - the numbers of errors that libyottadb.so returns, negative as it returns them.
 *
 * The last three bits of a number's magnitude are the severity.  One definition a line, each with single spaces:
 * wrappers read this file.  Made by tools/errors.sh from the project's table of errors.
 */
#ifndef CARET_LIBYDBERRORS_H
#define CARET_LIBYDBERRORS_H

/* clang-format off */

#define YDB_ERR_DBFILERR -150372546
#define YDB_ERR_GVSUBOFLOW -150372986
#define YDB_ERR_GVUNDEF -150372994
#define YDB_ERR_INVSVN -150373074
#define YDB_ERR_KEY2BIG -150373178
#define YDB_ERR_DIVZERO -150373210
#define YDB_ERR_MAXNRSUBSCRIPTS -150373282
#define YDB_ERR_MAXSTRLEN -150373290
#define YDB_ERR_NULSUBSC -150373498
#define YDB_ERR_NUMOFLOW -150373506
#define YDB_ERR_REC2BIG -150373602
#define YDB_ERR_SVNOSET -150373770
#define YDB_ERR_LVUNDEF -150373850
#define YDB_ERR_UNIMPLOP -150373858
#define YDB_ERR_VERSION -150374082
#define YDB_ERR_FILENOTFND -150374338
#define YDB_ERR_INVSTRLEN -150375522
#define YDB_ERR_LVNULLSUBS -150375938
#define YDB_ERR_TPRETRY -150376098
#define YDB_ERR_TPTOODEEP -150376106
#define YDB_ERR_NEGFRACPWR -150376226
#define YDB_ERR_TPTIMEOUT -150377322
#define YDB_ERR_NOCANONICNAME -150379530
#define YDB_ERR_INVYDBEXIT -150380242
#define YDB_ERR_CALLINAFTERXIT -150381530
#define YDB_ERR_ZGBLDIRACC -418809578

/* clang-format on */

#endif
