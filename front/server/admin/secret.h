/*
 * secret.h - arguments that MONITOR and SLOWLOG must not tell.
 */
#ifndef CARET_SERVER_ADMIN_SECRET_H
#define CARET_SERVER_ADMIN_SECRET_H

#include "server/call.h"

/* Argument i of the command as others may see it: "(redacted)" if it is a password, or stands beside one.  It lives as
 * long as the argument. */
caret_slice serve__argument_told(const struct serve__call *q, int i);

#endif
