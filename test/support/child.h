/* What a forked child asserts: cmocka is its parent's. */
#ifndef CARET_TEST_SUPPORT_CHILD_H
#define CARET_TEST_SUPPORT_CHILD_H

#include <unistd.h>

/* Else it says where, and ends with status 1.  Include it after <cmocka.h> and caret.h. */
#define CHILD(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            print_message("line %d: not so: %s (%s)\n", __LINE__, #condition, caret_message());              \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

#endif
