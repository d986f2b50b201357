/* What a child finds wrong, as text in memory that its parent sees.  After syscalls.h and database.h. */
#ifndef CARET_TEST_SUPPORT_COMPLAINT_H
#define CARET_TEST_SUPPORT_COMPLAINT_H

#include <stdarg.h>

#define COMPLAINT_MAX 700u

static char *complaint; /* COMPLAINT_MAX bytes of shared memory */

static void complain(const char *format, ...)
{
    va_list ap;

    failing.armed = false;
    va_start(ap, format);
    vsnprintf(complaint, COMPLAINT_MAX, format, ap);
    va_end(ap);
    _exit(1);
}

/* An error is fine if it has a name and a text, and does not call the database damaged. */
static void check_error(int rc, const char *what)
{
    if (rc == CARET_OK)
        return;
    const char *message = caret_message(), *name = caret_strerror(rc);
    if (rc > 0 || rc == CARET_E_CORRUPT || rc == CARET_E_FOREIGN || rc == CARET_E_VERSION)
        complain("%s: %d %s (%s)", what, rc, name, message);
    if (strncmp(message, name, strlen(name)) != 0 || strlen(message) < strlen(name) + 4)
        complain("%s: %s has no text: %s", what, name, message);
}

#endif
