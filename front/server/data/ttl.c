/*
 * ttl.c - commands of times: EXPIRE, TTL, PERSIST and their kin.
 */
#include "server/event.h"
#include "server/keys/key.h"
#include "server/worker.h"

enum { NX = 1, XX = 2, GT = 4, LT = 8 };

static int read_flags(struct serve__call *q, int *flags)
{
    *flags = 0;
    for (int i = 3; i < q->argc; i++) {
        const caret_slice *word = &q->argv[i];
        if (serve__is(word, "nx"))
            *flags |= NX;
        else if (serve__is(word, "xx"))
            *flags |= XX;
        else if (serve__is(word, "gt"))
            *flags |= GT;
        else if (serve__is(word, "lt"))
            *flags |= LT;
        else
            return serve__fail(q, "ERR Unsupported option %.*s", (int)word->len, word->data);
    }
    if ((*flags & NX) && (*flags & (XX | GT | LT)))
        return serve__fail(q, "ERR NX and XX, GT or LT options at the same time are not compatible");
    if ((*flags & GT) && (*flags & LT))
        return serve__fail(q, "ERR GT and LT options at the same time are not compatible");
    return CARET_OK;
}

/* Do the flags let a key with expiry `now` (0: none) have `then`? */
static bool lets(int flags, int64_t now, int64_t then)
{
    if (((flags & NX) && now != 0) || ((flags & XX) && now == 0))
        return false;
    if ((flags & GT) && (now == 0 || then <= now))
        return false;
    return !((flags & LT) && now != 0 && then >= now);
}

static int read_time(struct serve__call *q, bool seconds, bool absolute, int64_t *time)
{
    int rc = serve__arg_integer(q, 2, time);
    if (rc != CARET_OK)
        return rc;
    if ((seconds && __builtin_mul_overflow(*time, 1000, time)) ||
        (!absolute && __builtin_add_overflow(*time, q->now, time)))
        return SERVE__E_EXPIRE;
    return CARET_OK;
}

static int expire(struct serve__call *q, bool seconds, bool absolute)
{
    struct serve__key k;
    int flags;
    int64_t time;
    int rc = read_flags(q, &flags);
    if (rc == CARET_OK)
        rc = read_time(q, seconds, absolute, &time);
    if (rc == CARET_OK)
        rc = serve__key_change(q, &k, q->argv[1], SERVE__ANY);
    if (rc != CARET_OK)
        return rc;
    if (!k.exists || !lets(flags, k.expiry, time))
        return serve__integer(q, 0);
    bool over = time <= q->now;
    rc = over ? serve__key_delete(q, &k) : serve__key_expire(q, &k, time);
    if (rc != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_GENERIC, over ? "del" : "expire", k.name);
    return serve__integer(q, 1);
}

int serve__cmd_expire(struct serve__call *q)
{
    return expire(q, true, false);
}

int serve__cmd_pexpire(struct serve__call *q)
{
    return expire(q, false, false);
}

int serve__cmd_expireat(struct serve__call *q)
{
    return expire(q, true, true);
}

int serve__cmd_pexpireat(struct serve__call *q)
{
    return expire(q, false, true);
}

static int answer_time(struct serve__call *q, bool seconds, bool absolute)
{
    struct serve__key k;
    int rc = serve__key_read(q, &k, q->argv[1], SERVE__ANY);
    if (rc == CARET_NONE)
        return serve__integer(q, -2);
    if (rc != CARET_OK || k.expiry == 0)
        return rc == CARET_OK ? serve__integer(q, -1) : rc;
    int64_t time = absolute ? k.expiry : k.expiry - q->now;
    return serve__integer(q, seconds ? (int64_t)(((uint64_t)time + 500) / 1000) : time);
}

int serve__cmd_ttl(struct serve__call *q)
{
    return answer_time(q, true, false);
}

int serve__cmd_pttl(struct serve__call *q)
{
    return answer_time(q, false, false);
}

int serve__cmd_expiretime(struct serve__call *q)
{
    return answer_time(q, true, true);
}

int serve__cmd_pexpiretime(struct serve__call *q)
{
    return answer_time(q, false, true);
}

int serve__cmd_persist(struct serve__call *q)
{
    struct serve__key k;
    int rc = serve__key_change(q, &k, q->argv[1], SERVE__ANY);
    if (rc != CARET_OK || k.expiry == 0)
        return rc == CARET_OK ? serve__integer(q, 0) : rc;
    if ((rc = serve__key_expire(q, &k, 0)) != CARET_OK)
        return rc;
    serve__changed(q, SERVE__EVENT_GENERIC, "persist", k.name);
    return serve__integer(q, 1);
}
