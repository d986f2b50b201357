/*
 * expiry_option.c - times at which keys expire, as commands are told them.
 */
#include "server/keys/expiry_option.h"

bool serve__expiry_word(struct serve__expiry_option *o, const caret_slice *word, const caret_slice *time)
{
    bool ex = serve__is(word, "ex"), px = serve__is(word, "px");
    bool exat = serve__is(word, "exat"), pxat = serve__is(word, "pxat");
    if (!ex && !px && !exat && !pxat)
        return false;
    struct serve__expiry_option given = {true, ex || exat, exat || pxat, time};
    if (o->given && (o->seconds != given.seconds || o->absolute != given.absolute))
        return false;
    *o = given;
    return true;
}

int serve__expiry_time(struct serve__call *q, const struct serve__expiry_option *o, int64_t *expiry)
{
    int64_t n;
    *expiry = 0;
    if (!o->given)
        return CARET_OK;
    if (!serve__read_integer(o->time, &n))
        return SERVE__E_INTEGER;
    if (n <= 0 || (o->seconds && __builtin_mul_overflow(n, 1000, &n)) ||
        (!o->absolute && __builtin_add_overflow(n, q->now, &n)))
        return SERVE__E_EXPIRE;
    *expiry = n;
    return CARET_OK;
}
