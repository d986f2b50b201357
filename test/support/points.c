/* points.c - see points.h. */
#include "support/points.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void need_points(void)
{
#ifndef CARET_FAULTS
    print_message("skipped: this build has no fault points (the small one has)\n");
    skip();
#endif
}
