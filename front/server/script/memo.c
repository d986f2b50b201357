/*
 * memo.c - the hash that a script uses again and again: memo.h.
 */
#include "server/script/memo.h"

#include "server/event.h"
#include "server/keys/field.h"
#include "server/script/script.h"
#include "server/worker.h"

void serve__memo_flush(struct serve__scripts *x)
{
    struct serve__memo *m = &x->memo;
    bool writes = m->dirty && !x->restart;
    m->valid = m->dirty = false;
    int rc = writes ? serve__key_save(&x->quick.call, &m->k) : CARET_OK;
    if (rc == CARET_RESTART)
        x->restart = true;
    else if (rc != CARET_OK)
        x->broken = rc;
}

/* Is it the hash that is kept? */
static bool same(const struct serve__memo *m, const struct serve__call *q)
{
    const caret_slice *name = &q->argv[1];
    return m->valid && m->text == name->data && m->k.db == q->db && m->len == name->len &&
           memcmp(m->name, name->data, name->len) == 0;
}

/* Keep the hash argv[1], if it can be. */
static int open_hash(struct serve__memo *m, struct serve__call *q)
{
    const struct serve__command *cmd = q->cmd;
    m->text = q->argv[1].data;
    m->len = q->argv[1].len;
    if (m->len > SERVE__MEMO_NAME)
        return CARET_NONE;
    memcpy(m->name, m->text, m->len);
    q->cmd = NULL; /* the command tells of a key that is not there */
    int rc = serve__key_open(q, &m->k, (caret_slice){m->name, m->len}, SERVE__HASH);
    q->cmd = cmd;
    m->valid = rc == CARET_OK && m->k.counted && m->k.expiry == 0;
    return rc;
}

/* Have the hash of the call; false: as usual. */
static bool have(struct serve__scripts *x, struct serve__call *q)
{
    struct serve__memo *m = &x->memo;
    if (same(m, q))
        return true;
    bool again = m->last == q->argv[1].data;
    serve__memo_end(x, m);
    m->last = q->argv[1].data;
    if (!again || x->restart || x->broken != CARET_OK)
        return false;
    if (open_hash(m, q) == CARET_RESTART)
        x->restart = true;
    return m->valid;
}

static int get(struct serve__memo *m, struct serve__call *q)
{
    caret_slice value;
    int rc = serve__field_get(q, &m->k, q->argv[2], &value);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    serve__key_seen(q, true);
    return rc == CARET_OK ? serve__bulk(q, value.data, value.len) : serve__null(q);
}

static int set(struct serve__memo *m, struct serve__call *q)
{
    uint64_t count = m->k.count;
    unsigned flags = m->k.flags;
    bool fresh;
    int rc = serve__hash_put(q, &m->k, q->argv[2], q->argv[3], &fresh);
    if (rc != CARET_OK) {
        m->k.count = count;
        m->k.flags = flags;
        return rc;
    }
    m->dirty = m->dirty || m->k.count != count || m->k.flags != flags;
    serve__changed(q, SERVE__EVENT_HASH, "hset", m->k.name);
    return serve__integer(q, fresh);
}

/* Can it be that the command has to do with the hash that is kept?  No: it has one key, another. */
static bool elsewhere(const struct serve__memo *m, const struct serve__call *q)
{
    const caret_slice *name = &q->argv[1];
    return q->cmd->first == 1 && q->cmd->last == 1 && q->argc > 1 &&
           (name->len != m->len || q->db != m->k.db || memcmp(name->data, m->name, m->len) != 0);
}

bool serve__memo_run(struct serve__scripts *x, struct serve__call *q)
{
    struct serve__memo *m = &x->memo;
    bool gets = q->cmd->run == serve__cmd_hget, sets = q->cmd->run == serve__cmd_hset;
    if ((!gets && !sets) || serve__field_is_odd(q->argv[2]) || q->c->tracking != NULL) {
        if (m->valid && !elsewhere(m, q))
            serve__memo_flush(x);
        return false;
    }
    if (!have(x, q))
        return false;
    int rc = gets ? get(m, q) : set(m, q);
    if (rc == CARET_RESTART)
        x->restart = true;
    else if (rc != CARET_OK)
        serve__answer_code(q, rc);
    serve__add(&q->w->stats->command[q->cmd->id].calls, 1);
    return true;
}
