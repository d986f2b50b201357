/*
 * read.c - XREAD and XREADGROUP.
 *
 * Both look at each of their streams for entries after an id: XREAD those after the one it is given, XREADGROUP, when
 * given >, those that its group has not delivered; they become pending of the consumer.  Given an id it answers
 * what is pending of the consumer already.
 *   With BLOCK they wait for the first of their streams that has something (meet/blocked.h), and are run again for
 * that one.  $ is replaced by the last id that there was when the wait began.  A client of a group whose stream or
 * group is deleted is told so.
 */
#include "server/meet/blocked.h"
#include "server/stream/group.h"

struct request {
    int64_t count; /* entries of each stream; 0: all */
    bool waits;    /* BLOCK */
    int64_t until; /* serve__block_until_ms() */
    const caret_slice *group, *consumer;
    bool forget; /* NOACK */
    int keys, n; /* of q->argv; so many streams.  Their ids come after them */
};

/* --------------------------------------------------------------- arguments */

/* The streams: as many keys as ids, from argument i on. */
static int read_streams(struct serve__call *q, struct request *o, int i)
{
    int left = q->argc - i;
    if (left % 2 != 0)
        return serve__fail(
            q, "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.");
    o->keys = i;
    o->n = left / 2;
    return CARET_OK;
}

/* Those that only XREADGROUP has; false: it is none of them. */
static bool read_group_option(struct serve__call *q, struct request *o, int *i, bool grouped, int *rc)
{
    static const char *const only =
        "ERR The %s option is only supported by XREADGROUP. You called XREAD instead.";
    if (*i + 2 < q->argc && serve__is(&q->argv[*i], "group")) {
        if (!grouped)
            *rc = serve__fail(q, only, "GROUP");
        o->group = &q->argv[*i + 1];
        o->consumer = &q->argv[*i + 2];
        *i += 2;
        return true;
    }
    if (!serve__is(&q->argv[*i], "noack"))
        return false;
    if (!grouped)
        *rc = serve__fail(q, only, "NOACK");
    o->forget = true;
    return true;
}

/* The answers of a command that a script runs are the script's. */
static bool in_script(const struct serve__call *q)
{
    return q->c != NULL && q->reply != &q->c->reply;
}

static int read_request(struct serve__call *q, struct request *o, bool grouped)
{
    int rc = CARET_OK;
    *o = (struct request){.n = 0};
    for (int i = 1; i < q->argc && rc == CARET_OK && o->n == 0; i++) {
        bool more = i + 1 < q->argc;
        if (more && serve__is(&q->argv[i], "block")) {
            rc = in_script(q)
                     ? serve__fail(q, "ERR %.*s command is not allowed with BLOCK option from scripts",
                                   (int)q->argv[0].len, q->argv[0].data)
                     : serve__block_until_ms(q, i + 1, &o->until);
            o->waits = true;
            i++;
        } else if (more && serve__is(&q->argv[i], "count")) {
            rc = serve__arg_integer(q, ++i, &o->count);
            o->count = o->count < 0 ? 0 : o->count;
        } else if (more && serve__is(&q->argv[i], "streams")) {
            rc = read_streams(q, o, i + 1);
        } else if (!read_group_option(q, o, &i, grouped, &rc)) {
            rc = SERVE__E_SYNTAX;
        }
    }
    if (rc == CARET_OK && o->n == 0)
        rc = SERVE__E_SYNTAX;
    if (rc == CARET_OK && grouped && o->group == NULL)
        rc = serve__fail(q, "ERR Missing GROUP option for XREADGROUP");
    return rc;
}

/* --------------------------------------------------------------- one stream */

/* A stream that is asked for. */
struct source {
    struct serve__stream x;
    struct serve__group g;
    struct serve__id after; /* entries after it */
    bool there, fresh;      /* fresh: those that the group has not delivered */
};

static int no_group(struct serve__call *q, const struct request *o, int i)
{
    if (q->ready != NULL)
        return serve__fail(q, "NOGROUP the consumer group this client was blocked on no longer exists");
    return serve__fail(
        q, "NOGROUP No such key '%.*s' or consumer group '%.*s' in XREADGROUP with GROUP option",
        (int)q->argv[o->keys + i].len, q->argv[o->keys + i].data, (int)o->group->len, o->group->data);
}

/* The last id that there can be: with a group it means `>`. */
static bool is_last(struct serve__id id)
{
    return id.ms == UINT64_MAX && id.seq == UINT64_MAX;
}

/* What the id of stream i means. */
static int read_place(struct serve__call *q, const struct request *o, int i, struct source *from)
{
    caret_slice id = q->argv[o->keys + o->n + i];
    char letter = id.len == 1 ? *id.data : 0;
    from->fresh = false;
    if (letter == '$' && o->group != NULL)
        return serve__fail(
            q, "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history "
               "of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ "
               "ID would just return an empty result set.");
    if (letter == '>' && o->group == NULL)
        return serve__fail(
            q, "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> "
               "<consumer> option.");
    if (letter != '$' && letter != '>') {
        int rc = serve__id_read(q, id, 0, true, NULL, &from->after);
        from->fresh = rc == CARET_OK && o->group != NULL && is_last(from->after);
        if (rc != CARET_OK || !from->fresh)
            return rc;
    }
    from->fresh = letter != '$';
    from->after = !from->there ? SERVE__ID_MIN : from->fresh ? from->g.last : from->x.last;
    return CARET_OK;
}

/* The stream of a client that has waited for it: CARET_NONE, unless there is a group to be told of. */
static int look_again(struct serve__call *q, const struct request *o, int rc)
{
    if (q->ready == NULL || rc == CARET_OK)
        return rc;
    if (o->group != NULL && (rc == CARET_NONE || rc == SERVE__E_TYPE))
        return serve__fail(q, "UNBLOCKED the stream key no longer exists");
    return serve__block_result(q, rc);
}

static int open_source(struct serve__call *q, const struct request *o, int i, struct source *from)
{
    bool waited = q->ready != NULL; /* it was counted when it began to */
    int rc = (waited ? serve__stream_open : serve__stream_read)(q, &from->x, q->argv[o->keys + i]);
    rc = look_again(q, o, rc);
    from->there = rc == CARET_OK;
    if (rc != CARET_OK && (rc != CARET_NONE || q->ready != NULL))
        return rc;
    if (o->group != NULL) {
        rc = from->there ? serve__group_open(q, &from->x, &from->g, *o->group) : CARET_NONE;
        if (rc != CARET_OK)
            return rc == CARET_NONE ? no_group(q, o, i) : rc;
    }
    return read_place(q, o, i, from);
}

/* Is there an entry after the id?  The last id may be of one that is deleted. */
static int has_more(struct serve__call *q, const struct source *from, bool *yes)
{
    struct serve__id last;
    caret_slice value;
    *yes = false;
    if (!from->there || from->x.k.count == 0 || serve__id_compare(from->x.last, from->after) <= 0)
        return CARET_OK;
    int rc = serve__stream_end(q, &from->x, true, &last, &value);
    *yes = rc == CARET_OK && serve__id_compare(last, from->after) > 0;
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* ------------------------------------------------------------- for a group */

/* The group has been given the entry `id`: how many it has read now. */
static int count_read(struct serve__call *q, struct source *from, struct serve__id id)
{
    bool holes;
    int rc = serve__stream_holes(q, &from->x, id, &holes);
    if (rc == CARET_OK && from->g.read >= 0 && !holes)
        from->g.read++;
    else if (rc == CARET_OK && from->x.added > 0)
        rc = serve__stream_rank(q, &from->x, id, &from->g.read);
    from->g.last = id;
    return rc;
}

/* The entry is pending of c, whose else it was. */
static int deliver(struct serve__call *q, struct source *from, struct serve__id id,
                   const struct serve__consumer *c)
{
    struct serve__pending p;
    int rc = serve__pending_open(q, &from->g, &p, id);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    rc = serve__pending_move(q, &from->g, &p, c);
    p.when = q->now;
    p.times = 1;
    return rc == CARET_OK ? serve__pending_save(q, &p) : rc;
}

/* What is pending of the consumer already: answered again, and delivered once more. */
static int answer_history(struct serve__call *q, const struct request *o, struct source *from,
                          const struct serve__consumer *c)
{
    struct serve__walk i;
    struct serve__pending p;
    struct serve__id id = from->after;
    caret_slice value;
    size_t n = 0, place = serve__open(q);
    q->r->dirty++;
    int rc =
        serve__id_after(&id) ? serve__walk_begin(&i, &c->mine.node, id, SERVE__ID_MAX, false) : CARET_NONE;
    while (rc == CARET_OK && (o->count == 0 || n < (size_t)o->count) &&
           (rc = serve__walk_next(q, &i, &id, &value)) == CARET_OK) {
        n++;
        rc = serve__stream_entry(q, &from->x, id, &value);
        if (rc == CARET_NONE) {
            rc = serve__answer_entry(q, id, (caret_slice){NULL, 0});
            continue;
        }
        if (rc == CARET_OK)
            rc = serve__answer_entry(q, id, value);
        if (rc == CARET_OK)
            rc = serve__pending_open(q, &from->g, &p, id);
        p.when = q->now;
        p.times++;
        if (rc == CARET_OK)
            rc = serve__pending_save(q, &p);
    }
    return rc == CARET_OK || rc == CARET_NONE ? serve__close_array(q, place, n) : rc;
}

/* Entries after from->after; those of a group become c's. */
static int answer_new(struct serve__call *q, const struct request *o, struct source *from,
                      const struct serve__consumer *c)
{
    struct serve__walk i;
    struct serve__id id = from->after;
    caret_slice value;
    size_t n = 0, place = serve__open(q);
    serve__id_after(&id);
    int rc = serve__walk_begin(&i, &from->x.k.node.node, id, SERVE__ID_MAX, false);
    while (rc == CARET_OK && (o->count == 0 || n < (size_t)o->count) &&
           (rc = serve__walk_next(q, &i, &id, &value)) == CARET_OK) {
        n++;
        rc = serve__answer_entry(q, id, value);
        if (rc == CARET_OK && c != NULL)
            rc = count_read(q, from, id);
        if (rc == CARET_OK && c != NULL && !o->forget)
            rc = deliver(q, from, id, c);
    }
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    serve__close_array(q, place, n);
    q->r->dirty += c == NULL ? 0 : o->forget ? n > 0 : n;
    return c != NULL && n > 0 ? serve__group_save(q, &from->g) : CARET_OK;
}

/* --------------------------------------------------------------- all streams */

/* The name of a stream and its entries, within a map or (RESP2) as a pair. */
static int answer_source(struct serve__call *q, const struct request *o, int i, struct source *from)
{
    struct serve__consumer c;
    const caret_slice *name = &q->argv[o->keys + i];
    if (q->reply->protocol == 2)
        serve__array(q, 2);
    serve__bulk(q, name->data, name->len);
    if (o->group == NULL)
        return answer_new(q, o, from, NULL);
    int rc = serve__consumer_see(q, &from->x, &from->g, &c, *o->consumer);
    if (rc != CARET_OK)
        return rc;
    return from->fresh ? answer_new(q, o, from, &c) : answer_history(q, o, from, &c);
}

/* Wait for any of the streams: an argument $ is replaced by the id that it means now. */
static int wait_for_them(struct serve__call *q, const struct request *o)
{
    struct serve__buffer *b = &q->r->work;
    size_t head = (size_t)q->argc * sizeof *q->argv;
    b->len = 0;
    if (!serve__buffer_room(b, head + (size_t)o->n * SERVE__ID_ROOM))
        return CARET_E_NOMEM;
    caret_slice *argv = (caret_slice *)(void *)b->data;
    char *text = b->data + head;
    memcpy(argv, q->argv, head);
    for (int i = o->keys + o->n; i < q->argc; i++, text += SERVE__ID_ROOM) {
        struct serve__stream x;
        if (argv[i].len != 1 || *argv[i].data != '$')
            continue;
        int rc = serve__stream_open(q, &x, argv[i - o->n]);
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
        argv[i] = (caret_slice){text, serve__id_text(text, rc == CARET_OK ? x.last : SERVE__ID_MIN)};
    }
    return serve__block_as(q, argv, q->argc, o->keys, o->n, o->until);
}

/* Redis looks for the streams twice, first when it reads the request. Both count. */
static int count_again(struct serve__call *q, const struct request *o, uint64_t there)
{
    int rc = CARET_OK;
    if (q->ready != NULL)
        return CARET_OK;
    serve__add(&q->w->stats->hits, there);
    serve__add(&q->w->stats->misses, (uint64_t)o->n - there);
    for (int i = 0; i < o->n && (uint64_t)o->n > there && (q->w->interest & SERVE__EVENT_MISS); i++) {
        struct serve__key k;
        rc = serve__key_open(q, &k, q->argv[o->keys + i], SERVE__STREAM);
        if (rc == CARET_NONE)
            serve__event_add(q, SERVE__EVENT_MISS, "keymiss", &k.name, 1);
        else if (rc != CARET_OK)
            return rc;
    }
    return CARET_OK;
}

static int answer_streams(struct serve__call *q, const struct request *o)
{
    struct source from;
    uint64_t there = 0;
    size_t n = 0, place = serve__open(q);
    int rc = CARET_OK;
    bool looked = false; /* one that has waited: a name that it gave twice is told once */
    for (int i = 0; i < o->n && rc == CARET_OK; i++) {
        bool serves = true;
        if (looked || !serve__block_wants(q, q->argv[o->keys + i]))
            continue;
        looked = q->ready != NULL;
        rc = open_source(q, o, i, &from);
        there += rc == CARET_OK && from.there;
        if (rc == CARET_OK && (o->group == NULL || from.fresh))
            rc = has_more(q, &from, &serves);
        if (rc == CARET_OK && serves) {
            rc = answer_source(q, o, i, &from);
            n++;
        }
    }
    if (rc == CARET_OK)
        rc = count_again(q, o, there);
    if (rc != CARET_OK)
        return rc;
    if (n > 0)
        return q->reply->protocol == 2 ? serve__close_array(q, place, n) : serve__close_map(q, place, n);
    serve__reply_cut(q->reply, place);
    return o->waits ? wait_for_them(q, o) : serve__null_array(q);
}

static int read_them(struct serve__call *q, bool grouped)
{
    struct request o;
    int rc = read_request(q, &o, grouped);
    return rc == CARET_OK ? answer_streams(q, &o) : rc;
}

int serve__cmd_xread(struct serve__call *q)
{
    return read_them(q, false);
}

int serve__cmd_xreadgroup(struct serve__call *q)
{
    return read_them(q, true);
}
