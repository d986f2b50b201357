/*
 * sqlstate.c - what a server's SQLSTATE is to a program that uses Caret.
 *
 * The list is from the tail of each state's class to its own: the longest prefix that is found counts.  The state
 * stands in the text always, so that a program's author can look it up.
 */
#include <stdio.h>

#include "base/bytes.h"
#include "base/error.h"
#include "postgres/link.h"

static const struct {
    const char *state;
    int code;
} codes[] = {
    {"40001", CARET_RESTART},       {"40P01", CARET_RESTART},    {"55P03", CARET_RESTART},
    {"53100", CARET_E_DISKFULL},    {"53", CARET_E_LIMIT},       {"54", CARET_E_LIMIT},
    {"57014", CARET_E_IO},          {"25006", CARET_E_READONLY}, {"42501", CARET_E_OPEN},
    {"28", CARET_E_OPEN},           {"3D000", CARET_E_OPEN},     {"3F000", CARET_E_NOTFOUND},
    {"42P01", CARET_E_NOTFOUND},    {"XX001", CARET_E_CORRUPT},  {"XX002", CARET_E_CORRUPT},
    {"0A000", CARET_E_UNSUPPORTED}, {"42P05", CARET_E_OPEN},
};

static int code_of(const char *state)
{
    size_t best = 0;
    int code = CARET_E_IO;

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        size_t n = strlen(codes[i].state);
        if (n > best && strncmp(state, codes[i].state, n) == 0) {
            best = n;
            code = codes[i].code;
        }
    }
    return code;
}

bool caret__sqlstate_again(const char *state)
{
    return code_of(state) == CARET_RESTART;
}

/* 25P03, 25P04: a transaction was idle, or lasted, longer than the server permits, which ends the connection.
 * 40003: whether it was done is not known, as after a loss.  26000: a statement that we have prepared is not there, so
 * this is not the server's process that we spoke with. */
bool caret__sqlstate_lost(const char *state)
{
    return strncmp(state, "08", 2) == 0 || strncmp(state, "57P0", 4) == 0 || strcmp(state, "25P03") == 0 ||
           strcmp(state, "25P04") == 0 || strcmp(state, "40003") == 0 || strcmp(state, "26000") == 0;
}

int caret__sqlstate_fail(const struct caret__link *l, const char *where)
{
    int code = l->state[0] != '\0' ? code_of(l->state) : CARET_E_IO;

    if (code == CARET_RESTART)
        return code;
    return caret__fail(
        code, "%s: %s (SQLSTATE %s)%s", where, l->text, l->state[0] != '\0' ? l->state : "08000",
        strcmp(l->state, "42P05") == 0 ? ": a pooler gives us others' connections: caret_prepare=0" : "");
}
