/*
 * locals.c - local variables: one set for the process, as YottaDB's programs expect, in a session without a
 * database behind a mutex; and copies of them for transactions that begin again.
 */
#include <string.h>

#include "yottadb/session.h"

static caret_session *locals; /* under CARET__YDB_LOCALS; lives as long as the process */

/* Names whose variables are in `copy`; none of them: the variable had no nodes. */
struct caret__ydb_saved {
    caret_session *copy;
    bool all;
    unsigned count;
    char (*names)[YDB_MAX_IDENT + 1];
};

int caret__ydb_locals(struct caret__ydb_call *c, caret_session **s)
{
    int status = c->in != NULL ? caret__ydb_tp_check(c) : YDB_OK;

    if (status != YDB_OK)
        return status;
    caret__ydb_take(CARET__YDB_LOCALS);
    if (!caret__ydb_likely(locals != NULL)) {
        int rc = caret_session_open(NULL, &locals);
        if (rc != CARET_OK) {
            caret__ydb_give(CARET__YDB_LOCALS);
            return caret__ydb_failed(c, rc);
        }
        caret_session_detach(locals);
    }
    *s = locals;
    return YDB_OK;
}

/* ----------------------------------------------------------------------- names */

int caret__ydb_names_check(struct caret__ydb_call *c, int namecount, const ydb_buffer_t *names, bool star)
{
    if (namecount < 0)
        return caret__ydb_fail(c, YDB_ERR_INVNAMECOUNT, "%d names", namecount);
    if (namecount > YDB_MAX_NAMES)
        return caret__ydb_fail(c, YDB_ERR_NAMECOUNT2HI, "%d names; %d are the most", namecount,
                               YDB_MAX_NAMES);
    if (namecount != 0 && names == NULL)
        return caret__ydb_fail(c, YDB_ERR_PARAMINVALID, "%d names in an array at no address", namecount);
    for (int i = 0; i < namecount; i++) {
        caret_node_buf node;
        const ydb_buffer_t *b = &names[i];
        if (caret__ydb_is_special(b))
            return caret__ydb_fail(c, YDB_ERR_ISVUNSUPPORTED, "%.*s is no local variable", (int)b->len_used,
                                   b->buf_addr);
        if (star && caret__ydb_readable(b) && b->len_used == 1 && b->buf_addr[0] == '*')
            continue;
        int status = caret__ydb_node_make(c, b, 0, NULL, &node);
        if (status != YDB_OK)
            return status;
        if (!caret_node_is_local(&node.node))
            return caret__ydb_fail(c, YDB_ERR_GVNUNSUPPORTED, "%.*s is no local variable", (int)b->len_used,
                                   b->buf_addr);
    }
    return YDB_OK;
}

static bool is_named(const char *name, size_t len, int namecount, const ydb_buffer_t *names)
{
    for (int i = 0; i < namecount; i++)
        if (names[i].len_used == len && memcmp(names[i].buf_addr, name, len) == 0)
            return true;
    return false;
}

/* Kill all but those. */
static int kill_others(caret_session *s, int namecount, const ydb_buffer_t *names)
{
    char room[CARET_MAX_NAME + 2];
    caret_node_buf n;
    int rc = caret_first_var(s, &n.node, sizeof n, 1);

    while (rc == CARET_OK) {
        caret_slice name = caret_node_name(&n.node, room);
        if (!is_named(name.data, name.len, namecount, names))
            rc = caret_kill(s, &n.node);
        if (rc == CARET_OK)
            rc = caret_next(s, &n.node);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

int caret__ydb_delete_excl(struct caret__ydb_call *c, int namecount, const ydb_buffer_t *names)
{
    caret_session *s;
    int status = caret__ydb_names_check(c, namecount, names, false);

    if (status == YDB_OK)
        status = caret__ydb_locals(c, &s);
    if (status != YDB_OK)
        return status;
    int rc = kill_others(s, namecount, names);
    caret__ydb_locals_done();
    return rc == CARET_OK ? YDB_OK : caret__ydb_failed(c, rc);
}

int ydb_delete_excl_s(int namecount, const ydb_buffer_t *varnames)
{
    struct caret__ydb_call c;

    if (!caret__ydb_begin(&c))
        return c.status;
    return caret__ydb_end(&c, caret__ydb_delete_excl(&c, namecount, varnames));
}

/* ---------------------------------------------------------------------- copies */

/* Copy all nodes of a variable. */
static int copy_var(caret_session *from, caret_session *to, const caret_node *var)
{
    caret_node_buf n;
    caret_slice value;
    int rc = caret_node_copy(&n.node, sizeof n, var);

    if (rc == CARET_OK)
        rc = caret_get(from, &n.node, &value);
    if (rc == CARET_NONE)
        rc = caret_node_next_get(from, &n.node, &value);
    while (rc == CARET_OK) {
        rc = caret_set(to, &n.node, value.data, value.len);
        if (rc == CARET_OK)
            rc = caret_node_next_get(from, &n.node, &value);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int copy_all(caret_session *from, caret_session *to)
{
    caret_node_buf n;
    int rc = caret_first_var(from, &n.node, sizeof n, 1);

    while (rc == CARET_OK) {
        rc = copy_var(from, to, &n.node);
        if (rc == CARET_OK)
            rc = caret_next(from, &n.node);
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static bool is_saved(const struct caret__ydb_saved *saved, const ydb_buffer_t *name)
{
    for (unsigned i = 0; i < saved->count; i++)
        if (strlen(saved->names[i]) == name->len_used &&
            memcmp(saved->names[i], name->buf_addr, name->len_used) == 0)
            return true;
    return saved->all;
}

static int save(caret_session *s, struct caret__ydb_saved *saved, const ydb_buffer_t *name)
{
    caret_node_buf n;

    if (is_saved(saved, name))
        return CARET_OK;
    if (name->buf_addr[0] == '*') { /* what was saved before is older */
        if (saved->count != 0)
            return CARET_OK;
        saved->all = true;
        return copy_all(s, saved->copy);
    }
    memcpy(saved->names[saved->count], name->buf_addr, name->len_used);
    saved->names[saved->count++][name->len_used] = '\0';
    int rc = caret_node_var(&n.node, sizeof n, name->buf_addr, name->len_used);
    return rc == CARET_OK ? copy_var(s, saved->copy, &n.node) : rc;
}

/* Room for more names. */
static int grow(struct caret__ydb_call *c, struct caret__ydb_saved **saved, int more)
{
    struct caret__ydb_saved *new = *saved != NULL ? *saved : calloc(1, sizeof *new);
    int rc = new != NULL &&new->copy == NULL ? caret_session_open(NULL, &new->copy) : CARET_OK;

    *saved = new;
    if (rc != CARET_OK)
        return caret__ydb_failed(c, rc);
    void *names =
        new != NULL ? realloc(new->names, (new->count + (unsigned)more) * sizeof *new->names) : NULL;
    if (names == NULL)
        return caret__ydb_fail(c, YDB_ERR_DBFILERR, "no memory for copies of local variables");
    new->names = names;
    caret_session_detach(new->copy);
    return YDB_OK;
}

int caret__ydb_saved_add(struct caret__ydb_call *c, struct caret__ydb_saved **saved, int namecount,
                         const ydb_buffer_t *names)
{
    caret_session *s;
    int rc = CARET_OK, status = namecount != 0 ? grow(c, saved, namecount) : YDB_OK;

    if (status != YDB_OK || namecount == 0)
        return status;
    status = caret__ydb_locals(c, &s);
    if (status != YDB_OK)
        return status;
    for (int i = 0; rc == CARET_OK && i < namecount; i++)
        rc = save(s, *saved, &names[i]);
    caret__ydb_locals_done();
    return rc == CARET_OK ? YDB_OK : caret__ydb_failed(c, rc);
}

static int restore(caret_session *s, struct caret__ydb_saved *saved)
{
    caret_node_buf n;
    int rc = saved->all ? kill_others(s, 0, NULL) : CARET_OK;

    for (unsigned i = 0; rc == CARET_OK && i < saved->count; i++) {
        rc = caret_node_var(&n.node, sizeof n, saved->names[i], strlen(saved->names[i]));
        if (rc == CARET_OK)
            rc = caret_kill(s, &n.node);
    }
    return rc == CARET_OK ? copy_all(saved->copy, s) : rc;
}

int caret__ydb_saved_restore(struct caret__ydb_call *c, struct caret__ydb_saved *saved)
{
    if (saved == NULL)
        return YDB_OK;
    caret__ydb_take(CARET__YDB_LOCALS);
    int rc = restore(locals, saved);
    caret__ydb_give(CARET__YDB_LOCALS);
    return rc == CARET_OK ? YDB_OK : caret__ydb_failed(c, rc);
}

void caret__ydb_saved_free(struct caret__ydb_saved *saved)
{
    if (saved == NULL)
        return;
    caret_session_close(saved->copy);
    free(saved->names);
    free(saved);
}
