/*
 * geo_search.c - GEOSEARCH, GEOSEARCHSTORE, and the older GEORADIUS and GEORADIUSBYMEMBER.
 *
 * The shape touches up to nine ranges of scores (codec/geohash.h), whose members are looked at one by one.
 */
#include <stdlib.h>
#include <string.h>

#include "server/array.h"
#include "server/codec/number.h"
#include "server/zset/geo.h"

struct search {
    struct caret_codec__geo_shape shape;
    double unit; /* metres */
    bool search; /* GEOSEARCH or GEOSEARCHSTORE, not the older ones */
    enum { NOWHERE, POINT, MEMBER } centred;
    enum { SHAPELESS, CIRCLE, BOX } shaped;
    bool coord, dist, hash;
    int64_t count;
    bool any;
    int order; /* 1 from the nearest, -1 from the farthest, 0 as they come */
    const caret_slice *store;
    bool store_dist;
    struct serve__key k; /* where to search */
};

/* What is found: an item of the bag has the score, and here is what goes with it. */
struct found {
    struct serve__zbag bag;
    double *distance;
    size_t cap;
};

/* ---------------------------------------------------------------- options */

static int read_positive(struct serve__call *q, int i, const char *what, double *d)
{
    if (!caret_codec__parse_double(q->argv[i].data, q->argv[i].len, d))
        return serve__fail(q, "ERR need numeric %s", what);
    return CARET_OK;
}

static int read_radius(struct serve__call *q, int i, struct search *s)
{
    int rc = read_positive(q, i, "radius", &s->shape.radius);
    if (rc == CARET_OK && s->shape.radius < 0)
        return serve__fail(q, "ERR radius cannot be negative");
    if (rc == CARET_OK)
        rc = serve__geo_unit(q, i + 1, &s->unit);
    s->shape.radius *= s->unit;
    s->shaped = CIRCLE;
    return rc;
}

static int read_box(struct serve__call *q, int i, struct search *s)
{
    int rc = read_positive(q, i, "width", &s->shape.width);
    if (rc == CARET_OK)
        rc = read_positive(q, i + 1, "height", &s->shape.height);
    if (rc == CARET_OK && (s->shape.width < 0 || s->shape.height < 0))
        return serve__fail(q, "ERR height or width cannot be negative");
    if (rc == CARET_OK)
        rc = serve__geo_unit(q, i + 2, &s->unit);
    s->shape.width *= s->unit;
    s->shape.height *= s->unit;
    s->shape.box = true;
    s->shaped = BOX;
    return rc;
}

/* The member in the middle, argument i, has to be there, if the key is. */
static int find_centre(struct serve__call *q, int i, struct search *s)
{
    bool there;
    uint64_t score;
    if (!s->k.exists)
        return CARET_OK;
    int rc = serve__geo_find(q, &s->k, q->argv[i], &there, &score);
    if (rc == CARET_OK && !there)
        return serve__fail(q, "ERR could not decode requested zset member");
    s->shape.centre = caret_codec__geo_decode(score);
    return rc;
}

static int read_count(struct serve__call *q, int i, struct search *s)
{
    if (!serve__read_integer(&q->argv[i], &s->count))
        return SERVE__E_INTEGER;
    return s->count > 0 ? CARET_OK : serve__fail(q, "ERR COUNT must be > 0");
}

/* Words that all forms know.  *used: arguments, 0: it is none of them. */
static int read_common(struct serve__call *q, int i, struct search *s, int *used)
{
    const caret_slice *word = &q->argv[i];
    *used = 1;
    if (serve__is(word, "withdist"))
        s->dist = true;
    else if (serve__is(word, "withhash"))
        s->hash = true;
    else if (serve__is(word, "withcoord"))
        s->coord = true;
    else if (serve__is(word, "any"))
        s->any = true;
    else if (serve__is(word, "asc"))
        s->order = 1;
    else if (serve__is(word, "desc"))
        s->order = -1;
    else if (serve__is(word, "count") && i + 1 < q->argc)
        return *used = 2, read_count(q, i + 1, s);
    else
        *used = 0;
    return CARET_OK;
}

static bool may_store(const struct serve__call *q, const struct search *s)
{
    return !s->search && strstr(q->cmd->full, "_ro") == NULL;
}

/* Words of the older forms, or of the newer ones. */
static int read_special(struct serve__call *q, int i, struct search *s, int *used)
{
    const caret_slice *word = &q->argv[i];
    int left = q->argc - i - 1;
    if (may_store(q, s) && left > 0 && (serve__is(word, "store") || serve__is(word, "storedist"))) {
        s->store = &q->argv[i + 1];
        s->store_dist = word->len > 5;
        *used = 2;
    } else if (s->search && left > 0 && s->centred != POINT && serve__is(word, "frommember")) {
        s->centred = MEMBER;
        *used = 2;
        return find_centre(q, i + 1, s);
    } else if (s->search && left > 1 && s->centred != MEMBER && serve__is(word, "fromlonlat")) {
        s->centred = POINT;
        *used = 3;
        return serve__geo_point(q, i + 1, &s->shape.centre);
    } else if (s->search && left > 1 && s->shaped != BOX && serve__is(word, "byradius")) {
        *used = 3;
        return read_radius(q, i + 1, s);
    } else if (s->search && left > 2 && s->shaped != CIRCLE && serve__is(word, "bybox")) {
        *used = 4;
        return read_box(q, i + 1, s);
    } else if (s->search && s->store != NULL && serve__is(word, "storedist")) {
        s->store_dist = true;
        *used = 1;
    }
    return CARET_OK;
}

static int read_options(struct serve__call *q, int i, struct search *s)
{
    int used, rc = CARET_OK;
    for (; rc == CARET_OK && i < q->argc; i += used) {
        rc = read_common(q, i, s, &used);
        if (rc == CARET_OK && used == 0)
            rc = read_special(q, i, s, &used);
        if (rc == CARET_OK && used == 0)
            return SERVE__E_SYNTAX;
    }
    return rc;
}

static int check_options(struct serve__call *q, const struct search *s)
{
    if (s->store != NULL && (s->dist || s->hash || s->coord))
        return serve__fail(q, "ERR %s is not compatible with WITHDIST, WITHHASH and WITHCOORD options",
                           s->search ? "GEOSEARCHSTORE" : "STORE option in GEORADIUS");
    if (s->search && !(s->centred && s->shaped)) /* the command is named as the client has written it */
        return serve__fail(q, "ERR exactly one of %s can be specified for %.*s",
                           s->centred ? "BYRADIUS and BYBOX" : "FROMMEMBER or FROMLONLAT",
                           (int)q->argv[0].len, q->argv[0].data);
    if (s->any && s->count == 0)
        return serve__fail(q, "ERR the ANY argument requires COUNT argument");
    return CARET_OK;
}

/* --------------------------------------------------------------- searching */

static int add(struct serve__call *q, struct found *f, caret_slice member, double score, double distance)
{
    double *all = serve__array_room(f->distance, &f->cap, f->bag.n + 1, sizeof *all);
    if (all == NULL)
        return CARET_E_NOMEM;
    f->distance = all;
    f->distance[f->bag.n] = distance;
    return serve__zbag_add(q, &f->bag, member, score);
}

/* All of a range of scores that is in the shape. */
static int search_range(struct serve__call *q, struct search *s, const struct caret_codec__geo_range *range,
                        struct found *f)
{
    struct serve__zwalk w;
    struct serve__zrange r = {.by = SERVE__ZBY_SCORE, .limit = -1};
    r.min.score = (double)range->min;
    r.max.score = (double)range->max;
    r.max.open = true;
    int rc = serve__zrange_first(q, &s->k, &r, &w);
    for (; rc == CARET_OK; rc = serve__zrange_next(q, &r, &w)) {
        double distance;
        struct caret_codec__point point = caret_codec__geo_decode((uint64_t)w.score);
        if (!caret_codec__geo_within(&s->shape, point, &distance))
            continue;
        rc = add(q, f, w.member, w.score, distance);
        if (rc != CARET_OK || (s->any && f->bag.n >= (uint64_t)s->count))
            return rc;
    }
    return rc == CARET_NONE ? CARET_OK : rc;
}

static int search_all(struct serve__call *q, struct search *s, struct found *f)
{
    struct caret_codec__geo_range ranges[CARET_CODEC__GEO_RANGES];
    int n = caret_codec__geo_ranges(&s->shape, ranges), rc = CARET_OK;
    for (int i = 0; rc == CARET_OK && i < n; i++) {
        if (s->any && f->bag.n >= (uint64_t)s->count)
            break;
        rc = search_range(q, s, &ranges[i], f);
    }
    return rc;
}

/* ----------------------------------------------------------------- sorting */

struct place {
    double distance;
    struct serve__zitem item;
};

static int nearest(const void *one, const void *other)
{
    double a = ((const struct place *)one)->distance, b = ((const struct place *)other)->distance;
    return (a > b) - (a < b);
}

static int farthest(const void *one, const void *other)
{
    return nearest(other, one);
}

static int sort_found(struct found *f, int order)
{
    size_t n = f->bag.n;
    struct place *places = malloc((n > 0 ? n : 1) * sizeof *places);
    if (places == NULL)
        return CARET_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        places[i] = (struct place){f->distance[i], f->bag.item[i]};
    qsort(places, n, sizeof *places, order > 0 ? nearest : farthest);
    for (size_t i = 0; i < n; i++) {
        f->distance[i] = places[i].distance;
        f->bag.item[i] = places[i].item;
    }
    free(places);
    return CARET_OK;
}

/* --------------------------------------------------------------- answering */

static void answer(struct serve__call *q, const struct search *s, const struct found *f)
{
    size_t more = (size_t)s->dist + s->hash + s->coord;
    serve__array(q, f->bag.n);
    for (size_t i = 0; i < f->bag.n; i++) {
        const struct serve__zitem *item = &f->bag.item[i];
        caret_slice member = serve__zbag_member(q, item);
        if (more > 0)
            serve__array(q, 1 + more);
        serve__bulk(q, member.data, member.len);
        if (s->dist)
            serve__geo_distance(q, f->distance[i] / s->unit);
        if (s->hash)
            serve__integer(q, (int64_t)item->score);
        if (s->coord)
            serve__geo_position(q, (uint64_t)item->score);
    }
}

static int finish(struct serve__call *q, const struct search *s, struct found *f)
{
    int rc = CARET_OK;
    int order = s->order != 0 ? s->order : s->count > 0 && !s->any ? 1 : 0;
    if (order != 0)
        rc = sort_found(f, order);
    if (rc == CARET_OK && s->count > 0 && f->bag.n > (uint64_t)s->count)
        f->bag.n = (size_t)s->count;
    if (rc != CARET_OK)
        return rc;
    if (s->store == NULL) {
        answer(q, s, f);
        return CARET_OK;
    }
    for (size_t i = 0; s->store_dist && i < f->bag.n; i++)
        f->bag.item[i].score = f->distance[i] / s->unit;
    if (f->bag.n > 1) /* each position is a change */
        q->r->dirty += f->bag.n - 1;
    return serve__zbag_store(q, &f->bag, f->bag.n, f->bag.longest, *s->store,
                             s->search ? "geosearchstore" : "georadiusstore");
}

/* ---------------------------------------------------------------- commands */

static int run(struct serve__call *q, struct search *s)
{
    struct found f = {.cap = 0};
    int rc = CARET_OK;
    serve__zbag_begin(q, &f.bag);
    if (s->k.exists)
        rc = search_all(q, s, &f);
    if (rc == CARET_OK)
        rc = finish(q, s, &f);
    serve__zbag_free(&f.bag);
    free(f.distance);
    return rc;
}

static int open_key(struct serve__call *q, int i, struct search *s)
{
    int rc = serve__key_read(q, &s->k, q->argv[i], SERVE__ZSET);
    return rc == CARET_NONE ? CARET_OK : rc;
}

/* Options from argument i on, and the search. */
static int search(struct serve__call *q, int i, struct search *s)
{
    int rc = read_options(q, i, s);
    if (rc == CARET_OK)
        rc = check_options(q, s);
    return rc == CARET_OK ? run(q, s) : rc;
}

int serve__cmd_georadius(struct serve__call *q)
{
    struct search s = {.unit = 1};
    int rc = open_key(q, 1, &s);
    if (rc == CARET_OK)
        rc = serve__geo_point(q, 2, &s.shape.centre);
    if (rc == CARET_OK)
        rc = read_radius(q, 4, &s);
    return rc == CARET_OK ? search(q, 6, &s) : rc;
}

int serve__cmd_georadius_ro(struct serve__call *q)
{
    return serve__cmd_georadius(q);
}

int serve__cmd_georadiusbymember(struct serve__call *q)
{
    struct search s = {.unit = 1};
    int rc = open_key(q, 1, &s);
    if (rc == CARET_OK)
        rc = find_centre(q, 2, &s);
    if (rc == CARET_OK && s.k.exists)
        rc = read_radius(q, 3, &s);
    return rc == CARET_OK ? search(q, 5, &s) : rc;
}

int serve__cmd_georadiusbymember_ro(struct serve__call *q)
{
    return serve__cmd_georadiusbymember(q);
}

int serve__cmd_geosearch(struct serve__call *q)
{
    struct search s = {.unit = 1, .search = true};
    int rc = open_key(q, 1, &s);
    return rc == CARET_OK ? search(q, 2, &s) : rc;
}

int serve__cmd_geosearchstore(struct serve__call *q)
{
    struct search s = {.unit = 1, .search = true, .store = &q->argv[1]};
    int rc = open_key(q, 2, &s);
    return rc == CARET_OK ? search(q, 3, &s) : rc;
}
