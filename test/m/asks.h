/* asks.h - what the program of questions (asks.c, run/m) needs before its tables. */
#ifndef CARET_TEST_M_ASKS_H
#define CARET_TEST_M_ASKS_H

#include <libyottadb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static ydb_buffer_t b(const char *s)
{
    return (ydb_buffer_t){(unsigned)strlen(s), (unsigned)strlen(s), (char *)(uintptr_t)s};
}

#endif
