/*
 * Calls that are noted as text, to be compared with a header: each of its functions must have been called with NULL
 * for each of its pointers, with SIZE_MAX for each size, with NAN for each double, and with -1 for its flags.
 */
#ifndef CARET_TEST_SUPPORT_TRIED_H
#define CARET_TEST_SUPPORT_TRIED_H

#include "support/database.h"

void note(const char *call);

/* The call must answer `code`, and its message have the name of the function and these words. */
#define BAD(call, code, words) refused(#call, (call), CARET_E_##code, #code, words, __LINE__)
void refused(const char *call, int rc, int code, const char *symbol, const char *words, int line);

/* The call must answer that. */
#define IS(call, value) answered(#call, (int)(call), value, __LINE__)
void answered(const char *call, int got, int value, int line);

#define VOID(call) (note(#call), (call))

/* Functions of the header, counted; how many trials of them are missing, each of which it prints. */
unsigned missing_trials(const char *header_name, unsigned *functions);

#endif
