/*
 * keep.c - values that stay valid to the end of a transaction.
 *
 *     s->kept -> | chunk | value, value, ... free | -> | chunk | value, ... | -> NULL
 *
 * A value goes to the first chunk, or to a new one before it if there is no room; none ever moves.  The end of the
 * outermost transaction, and its restart, drop all chunks but one of the usual size, which the next transaction
 * begins with.
 */
#include <stdlib.h>

#include "api/session.h"

#define CHUNK_BYTES 4064u /* with its head, and that of malloc, a page */

struct caret__kept {
    struct caret__kept *next;
    size_t size, used; /* of bytes */
    char bytes[];
};

static char *room_for(caret_session *s, size_t len)
{
    struct caret__kept *k = s->kept;

    if (k == NULL || k->size - k->used < len) {
        size_t size = caret__max(len, CHUNK_BYTES);
        k = malloc(sizeof *k + size);
        if (k == NULL)
            return NULL;
        *k = (struct caret__kept){.next = s->kept, .size = size};
        s->kept = k;
    }
    k->used += len;
    return k->bytes + k->used - len;
}

void caret__kept_drop(caret_session *s, bool all)
{
    struct caret__kept *usual = NULL;

    while (s->kept != NULL) {
        struct caret__kept *k = s->kept;
        s->kept = k->next;
        if (all || usual != NULL || k->size != CHUNK_BYTES)
            free(k);
        else
            usual = k;
    }
    s->kept = usual;
    if (usual != NULL)
        *usual = (struct caret__kept){.size = usual->size};
}

static int check_txn(const char *function, caret_session *s)
{
    int rc = s != NULL ? caret__if_remote(caret__session_enter(s), CARET_OK)
                       : caret__null(function, "s", "a session");

    if (rc == CARET_OK && s->txn.level == 0)
        rc =
            caret__fail(CARET_E_NOTXN,
                        "%s: values are kept to the end of a transaction, and none is in progress", function);
    return rc;
}

static int keep(caret_session *s, caret_slice *value)
{
    if (value->data == NULL) /* no value */
        return CARET_OK;
    char *kept = room_for(s, value->len);
    if (kept == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory to keep a value of %zu bytes", value->len);
    if (value->len != 0)
        memcpy(kept, value->data, value->len);
    value->data = kept;
    return CARET_OK;
}

int caret_keep(caret_session *s, caret_slice *value)
{
    int rc = check_txn(__func__, s);

    if (rc == CARET_OK && value == NULL)
        rc = caret__null(__func__, "value", "a value that a call has given");
    if (rc == CARET_OK && value->len > CARET_MAX_VALUE)
        rc = caret__fail(CARET_E_VALUE2BIG, "a value of %zu bytes; %u is the limit", value->len,
                         CARET_MAX_VALUE);
    return rc == CARET_OK ? keep(s, value) : rc;
}

int caret_get_kept(caret_session *s, caret_node *n, caret_slice *value)
{
    int rc = caret__args_check(__func__, s, n);

    if (rc == CARET_OK && value == NULL)
        rc = caret__null(__func__, "value", "a place for the value");
    if (rc == CARET_OK)
        rc = check_txn(__func__, s);
    if (rc == CARET_OK)
        rc = caret_get(s, n, value);
    return rc == CARET_OK ? keep(s, value) : rc;
}
