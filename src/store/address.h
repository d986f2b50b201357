/*
 * address.h - names of databases that are not files: SCHEME://...
 */
#ifndef CARET_STORE_ADDRESS_H
#define CARET_STORE_ADDRESS_H

#include <stdbool.h>

#include "store/store.h"

/* Does it begin as an address does?  A file of such a name is opened with ./ before it. */
bool caret__address_is(const char *text);

/* UNSUPPORTED, of a function whose argument `text` is an address and has to be a path; what is told says what does the
 * work. */
int caret__address_refused(const char *function, const char *argument, const char *text);

/* Is it one of the driver's? */
bool caret__address_of(const char *text, const struct caret__store *driver);

/* The address as it may be shown: without the password before the @, and without those among its parameters.  To be
 * freed; NULL: no memory. */
char *caret__address_shown(const char *text);

/* Where its parameters begin, with a '?', or its end: a '?' before the @ is of a password. */
const char *caret__address_query(const char *text);

#endif
