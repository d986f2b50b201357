/*
 * postgres.h - the store that is a server which speaks PostgreSQL's protocol.
 */
#ifndef CARET_POSTGRES_POSTGRES_H
#define CARET_POSTGRES_POSTGRES_H

#include "store/store.h"

extern const struct caret__store caret__postgres;

#endif
