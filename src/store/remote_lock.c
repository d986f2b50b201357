/*
 * remote_lock.c - taking and giving back locks at a server.
 *
 *   take      names that are not held are asked for at once, all or none, in key order; then all are counted.  What
 *             can fail here does before the server is asked, so that nothing is held that is not known to be
 *   give back a name that has no count left is given back at once
 * What a call that fails has left with the server is told by the driver: nothing, or EVICTED (remote.c).
 */
#include "store/remote.h"

#include <stdlib.h>

#include "base/error.h"
#include "shm/engine.h"

static int by_key(const void *a, const void *b)
{
    const struct caret__bytes *x = a, *y = b;

    return caret__bytes_compare(x->data, x->len, y->data, y->len);
}

/* Those that are not held yet, ascending, none twice. */
static size_t missing(const struct caret__remote *r, const uint8_t *const keys[], const size_t lens[],
                      size_t n, struct caret__bytes *out)
{
    size_t count = 0, kept = 0;

    for (size_t i = 0; i < n; i++)
        if (caret__name_find(&r->locks, keys[i], lens[i]) == SIZE_MAX)
            out[count++] = (struct caret__bytes){keys[i], lens[i]};
    qsort(out, count, sizeof *out, by_key);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || by_key(&out[kept - 1], &out[i]) != 0)
            out[kept++] = out[i];
    return kept;
}

static int give_back(struct caret__remote *r, const struct caret__bytes *names, size_t n)
{
    return n == 0 ? CARET_OK : caret__remote_said(r, r->store->unlock(r->conn, names, n));
}

/* They are held at the server: so it is noted, or they are given back. */
static int note(struct caret__remote *r, const struct caret__bytes *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int rc = caret__name_add(&r->locks, names[i].data, names[i].len);
        if (rc == CARET_OK)
            continue;
        for (size_t k = 0; k < i; k++)
            caret__name_forget(&r->locks, caret__name_find(&r->locks, names[k].data, names[k].len));
        give_back(r, names, n);
        return rc;
    }
    return CARET_OK;
}

int caret__remote_lock(struct caret__remote *r, uint64_t level, const uint8_t *const keys[],
                       const size_t lens[], size_t n, uint64_t timeout_ns)
{
    struct caret__bytes *names;
    int rc = caret__names_reserve(&r->locks, n);

    if ((r->db->has & CARET__STORE_LOCKS) == 0)
        return caret__fail(CARET_E_UNSUPPORTED, "locks are not available on %s", r->db->server);
    if (rc != CARET_OK || (names = malloc((n + 1) * sizeof *names)) == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory for %zu locks", n);
    r->locks.level = level;
    size_t count = missing(r, keys, lens, n, names);
    if (count != 0)
        rc = caret__remote_said(r, r->store->lock(r->conn, names, count, timeout_ns));
    if (rc == CARET_OK)
        rc = note(r, names, count);
    for (size_t i = 0; rc == CARET_OK && i < n; i++)
        caret__name_take(&r->locks, caret__name_find(&r->locks, keys[i], lens[i]));
    free(names);
    return rc;
}

/* Give back all that have no count left. */
static int give_back_idle(struct caret__remote *r)
{
    struct caret__names *l = &r->locks;
    int rc = CARET_OK;

    for (size_t i = 0; i < l->n; i++) {
        if (!caret__name_idle(l, i))
            continue;
        struct caret__bytes name = {l->name[i].key, l->name[i].len};
        int said = r->store->unlock(r->conn, &name, 1);
        if (said == CARET_E_EVICTED)
            return caret__remote_said(r, said);
        caret__name_forget(l, i);
        rc = said != CARET_OK ? said : rc;
    }
    return rc;
}

int caret__remote_unlock(struct caret__remote *r, const uint8_t *key, size_t len)
{
    size_t i = caret__name_find(&r->locks, key, len);

    if (i == SIZE_MAX || !caret__name_release(&r->locks, i))
        return caret__fail(CARET_E_NOTLOCKED, "the lock is not held");
    return give_back_idle(r);
}

int caret__remote_unlock_all(struct caret__remote *r)
{
    caret__names_drop(&r->locks, 0, false);
    caret__names_uncarry(&r->locks);
    return give_back_idle(r);
}

int caret__remote_lock_rollback(struct caret__remote *r, uint64_t mark)
{
    r->locks.level = mark - 1;
    caret__names_drop(&r->locks, mark, false);
    if (r->txn->level <= 1)
        caret__names_uncarry(&r->locks);
    return give_back_idle(r);
}

int caret__remote_lock_restart(struct caret__remote *r, uint64_t mark)
{
    r->locks.level = mark;
    caret__names_drop(&r->locks, mark, true);
    return CARET_OK;
}

int caret__remote_lock_commit(struct caret__remote *r, uint64_t mark)
{
    (void)mark;
    caret__names_uncarry(&r->locks);
    return give_back_idle(r);
}
