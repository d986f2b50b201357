/*
 * merge.c - walking the database and a transaction's buffer as one.
 *
 * A step asks both for their next key and takes the nearer one.  From the
 * database, keys that the buffer has an entry for are passed over (the buffer
 * decides about them), and what was killed is jumped over whole; from the buffer
 * only entries with a value count.
 */
#include "txn/txn.h"

/* Is the buffer's entry there a value, and not only word of a kill? */
static bool has_value(const struct caret__at *at)
{
    struct caret__entry e = caret__page_entry(at->page, at->pos);
    const uint8_t *val;
    size_t vlen;

    caret__private_value(&e, &val, &vlen);
    return vlen > 0 && (val[0] & CARET__TX_SET);
}

/* In the buffer: first entry with a value at or after key. */
static int buffer_from(struct caret__txn *t, uint8_t *key, size_t *len)
{
    struct caret__view v = {.pg = &t->buffer.pg};
    struct caret__at at = {0};
    int rc = caret__scan_from(&v, &at, key, len);

    while (rc == CARET_OK && !has_value(&at))
        rc = caret__scan_next(&v, &at, key, len);
    return rc;
}

static int buffer_before(struct caret__txn *t, uint8_t *key, size_t *len)
{
    struct caret__view v = {.pg = &t->buffer.pg};
    struct caret__at at = {0};
    int rc;

    do
        rc = caret__scan_before(&v, &at, key, len);
    while (rc == CARET_OK && !has_value(&at));
    return rc;
}

/* Does the buffer decide about this key of the database?  *killed: what was killed with it; hi_len 0 = nothing, it
 * decides about the key alone. */
static bool hidden(struct caret__txn *t, const uint8_t *key, size_t len, struct caret__one_span *killed)
{
    const uint8_t *val;
    size_t vlen;
    if (caret__buffer_killed(t, key, len, killed))
        return true;
    killed->span.hi_len = 0;
    return caret__private_get(&t->buffer, key, len, &val, &vlen);
}

/* The database's keys, wherever it is. */
static int from(struct caret__view *v, struct caret__at *at, uint8_t *key, size_t *len)
{
    return v->elsewhere != NULL ? v->elsewhere(v->ctx, key, len, false) : caret__scan_from(v, at, key, len);
}

static int next(struct caret__view *v, struct caret__at *at, uint8_t *key, size_t *len)
{
    if (v->elsewhere == NULL)
        return caret__scan_next(v, at, key, len);
    caret__key_after(key, len);
    return v->elsewhere(v->ctx, key, len, false);
}

static int before(struct caret__view *v, struct caret__at *at, uint8_t *key, size_t *len)
{
    return v->elsewhere != NULL ? v->elsewhere(v->ctx, key, len, true) : caret__scan_before(v, at, key, len);
}

/* In the database: first key at or after key that the buffer says nothing about. */
static int tree_from(struct caret__txn *t, struct caret__view *v, uint8_t *key, size_t *len)
{
    struct caret__at at = {0};
    struct caret__one_span killed;
    int rc = from(v, &at, key, len);

    while (rc == CARET_OK && hidden(t, key, *len, &killed)) {
        if (killed.span.hi_len != 0) {
            memcpy(key, killed.span.hi, killed.span.hi_len);
            *len = killed.span.hi_len;
            rc = from(v, &at, key, len);
        } else {
            rc = next(v, &at, key, len);
        }
    }
    return rc;
}

static int tree_before(struct caret__txn *t, struct caret__view *v, uint8_t *key, size_t *len)
{
    struct caret__at at = {0};
    struct caret__one_span killed;
    int rc = before(v, &at, key, len);

    while (rc == CARET_OK && hidden(t, key, *len, &killed)) {
        if (killed.span.hi_len != 0) {
            memcpy(key, killed.lo, killed.span.lo_len);
            *len = killed.span.lo_len;
        }
        rc = before(v, &at, key, len);
    }
    return rc;
}

/* The nearer of both neighbours.  back: of those before the key. */
static int merged(struct caret__txn *t, struct caret__view *v, uint8_t *key, size_t *len, bool back)
{
    uint8_t other[CARET__PLACE_MAX];
    size_t other_len = *len;
    int rc = caret__buffer_spill(t);

    if (rc != CARET_OK)
        return rc;
    memcpy(other, key, *len);
    rc = back ? tree_before(t, v, key, len) : tree_from(t, v, key, len);
    int buffered = back ? buffer_before(t, other, &other_len) : buffer_from(t, other, &other_len);
    if (rc < 0 || rc == CARET_RESTART)
        return rc;
    if (buffered != CARET_OK)
        return buffered == CARET_NONE ? rc : buffered;
    if (rc == CARET_OK) {
        int order = caret__bytes_compare(key, *len, other, other_len);
        if (back ? order >= 0 : order <= 0)
            return CARET_OK;
    }
    memcpy(key, other, other_len);
    *len = other_len;
    return CARET_OK;
}

int caret__merged_from(struct caret__txn *t, struct caret__view *v, uint8_t *key, size_t *len)
{
    struct caret__at at = {0};

    return t->changed ? merged(t, v, key, len, false) : caret__scan_from(v, &at, key, len);
}

int caret__merged_before(struct caret__txn *t, struct caret__view *v, uint8_t *key, size_t *len)
{
    struct caret__at at = {0};

    return t->changed ? merged(t, v, key, len, true) : caret__scan_before(v, &at, key, len);
}
