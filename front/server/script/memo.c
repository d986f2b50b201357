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

/* -------------------------------------------------------- fields that were missed */

static void forget_missed(struct serve__memo *m)
{
    if (++m->generation == 0) { /* what was noted so long ago may not seem to be new */
        memset(m->missed, 0, sizeof m->missed);
        m->generation = 1;
    }
}

/* Where the field of the call is noted; NULL: its name isn't a whole number. */
static struct serve__missed *place_of(struct serve__memo *m, const struct serve__call *q)
{
    const struct serve__ahead *a = q->ahead;
    if (a == NULL || a->digits == NULL || a->digits != q->argv[2].data)
        return NULL;
    uint64_t mixed = (uint64_t)a->number * UINT64_C(0x9E3779B97F4A7C15);
    return &m->missed[mixed >> 56 & (SERVE__MEMO_MISSED - 1)];
}

static void note_missed(struct serve__memo *m, const struct serve__call *q)
{
    struct serve__missed *place = place_of(m, q);
    if (place != NULL)
        *place = (struct serve__missed){q->ahead->number, m->generation};
}

/* The field is about to be set: is it known not to be there?  It is not known any more, as is none if its name is a
 * text, which may be that of a number. */
static bool take_missed(struct serve__memo *m, const struct serve__call *q)
{
    struct serve__missed *place = place_of(m, q);
    if (place == NULL) {
        forget_missed(m);
        return false;
    }
    if (place->generation != m->generation || place->field != q->ahead->number)
        return false;
    place->generation = 0;
    return true;
}

/* ----------------------------------------------------------------- the hash */

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
    forget_missed(m);
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
    if (rc == CARET_NONE)
        note_missed(m, q);
    serve__key_looked(q, true);
    return rc == CARET_OK ? serve__bulk(q, value.data, value.len) : serve__null(q);
}

static int set(struct serve__memo *m, struct serve__call *q)
{
    uint64_t count = m->k.count;
    unsigned flags = m->k.flags;
    bool fresh = true;
    int rc = take_missed(m, q) ? serve__hash_put_new(q, &m->k, q->argv[2], q->argv[3])
                               : serve__hash_put(q, &m->k, q->argv[2], q->argv[3], &fresh);
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

bool serve__memo_prints_not(const struct serve__memo *m, const struct serve__call *q)
{
    return m->valid && (q->cmd->run == serve__cmd_hget || q->cmd->run == serve__cmd_hset) &&
           q->w->config.n[SERVE__CFG_hash_max_listpack_value] >= SERVE__SCRIPT_DIGITS;
}

bool serve__memo_run(struct serve__scripts *x, struct serve__call *q)
{
    struct serve__memo *m = &x->memo;
    bool gets = q->cmd->run == serve__cmd_hget, sets = q->cmd->run == serve__cmd_hset;
    if ((!gets && !sets) || serve__field_is_odd(q->argv[2]) || q->c->tracking != NULL) {
        if (m->valid && !elsewhere(m, q))
            serve__memo_flush(x);
        else if (q->cmd->flags & SERVE__WRITE)
            forget_missed(m); /* a key may be a field of another (keys/map.h) */
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
