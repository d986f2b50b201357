/*
 * geo.c - positions: GEOADD, GEOPOS, GEODIST, GEOHASH.
 *
 * A set of positions is a sorted set, whose scores are cells of the earth of less than a metre (codec/geohash.h).
 */
#include "server/zset/geo.h"

#include <string.h>

#include "server/codec/geohash.h"
#include "server/codec/number.h"

int serve__geo_unit(struct serve__call *q, int i, double *metres)
{
    static const struct {
        const char *name;
        double metres;
    } units[] = {{"m", 1}, {"km", 1000}, {"ft", 0.3048}, {"mi", 1609.34}};
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        if (serve__is(&q->argv[i], units[u].name)) {
            *metres = units[u].metres;
            return CARET_OK;
        }
    return serve__fail(q, "ERR unsupported unit provided. please use M, KM, FT, MI");
}

int serve__geo_point(struct serve__call *q, int i, struct caret_codec__point *point)
{
    uint64_t score;
    if (!caret_codec__parse_double(q->argv[i].data, q->argv[i].len, &point->lon) ||
        !caret_codec__parse_double(q->argv[i + 1].data, q->argv[i + 1].len, &point->lat))
        return SERVE__E_FLOAT;
    if (!caret_codec__geo_encode(*point, &score))
        return serve__fail(q, "ERR invalid longitude,latitude pair %f,%f", point->lon, point->lat);
    return CARET_OK;
}

/* Redis has more digits here than in other doubles.  A script of RESP3 gets a number: the double of these digits. */
void serve__geo_number(struct serve__call *q, double d)
{
    char text[CARET_CODEC__HUMAN_ROOM];
    size_t len = caret_codec__print_human((long double)d, text);
    if (q->reply->sink == &serve__resp3)
        serve__buffer_print(q->reply->out, ",%.*s\r\n", (int)len, text);
    else if (q->reply->protocol == 3 && caret_codec__parse_double(text, len, &d))
        serve__real(q, d);
    else
        serve__bulk(q, text, len);
}

void serve__geo_distance(struct serve__call *q, double d)
{
    char text[64];
    serve__bulk(q, text, (size_t)snprintf(text, sizeof text, "%.4f", d));
}

/* ----------------------------------------------------------------- GEOADD */

/* As the arguments of a ZADD, scores for positions: into *argv, with the texts in `text`. */
static int as_zadd(struct serve__call *q, int from, caret_slice *argv, char (*text)[24])
{
    for (int i = 0; i < from; i++)
        argv[i] = q->argv[i];
    for (int i = from, n = 0; i < q->argc; i += 3, n++) {
        struct caret_codec__point point;
        uint64_t score = 0;
        int rc = serve__geo_point(q, i, &point);
        if (rc != CARET_OK)
            return rc;
        caret_codec__geo_encode(point, &score);
        argv[from + 2 * n] = (caret_slice){text[n], caret_codec__print_u64(score, text[n])};
        argv[from + 2 * n + 1] = q->argv[i + 2];
    }
    return CARET_OK;
}

int serve__cmd_geoadd(struct serve__call *q)
{
    int from = 2;
    bool nx = false, xx = false;
    for (bool word = true; word && from < q->argc; from += word) {
        nx = nx || serve__is(&q->argv[from], "nx");
        xx = xx || serve__is(&q->argv[from], "xx");
        word = serve__is(&q->argv[from], "nx") || serve__is(&q->argv[from], "xx") ||
               serve__is(&q->argv[from], "ch");
    }
    if ((q->argc - from) % 3 != 0 || (nx && xx))
        return SERVE__E_SYNTAX;
    struct serve__buffer b = {0};
    size_t n = (size_t)q->argc;
    if (!serve__buffer_room(&b, n * (sizeof(caret_slice) + 24)))
        return CARET_E_NOMEM;
    caret_slice *argv = (caret_slice *)(void *)b.data;
    int rc = as_zadd(q, from, argv, (char(*)[24])(void *)(argv + n));
    if (rc == CARET_OK) {
        struct serve__call inner = *q;
        inner.argv = argv;
        inner.argc = from + (q->argc - from) / 3 * 2;
        rc = serve__cmd_zadd(&inner);
    }
    serve__buffer_free(&b);
    return rc;
}

/* ---------------------------------------------------------------- reading */

/* The cell of any score, also of those that a ZADD gave: as a conversion to 64 bits on x86 does. */
static uint64_t cell_of(double score)
{
    const double half = 9223372036854775808.0;
    if (score >= half)
        return score < 2 * half ? (uint64_t)score : 0;
    return score > -half ? (uint64_t)(int64_t)score : UINT64_C(1) << 63;
}

int serve__geo_find(struct serve__call *q, const struct serve__key *k, caret_slice name, bool *there,
                    uint64_t *score)
{
    struct serve__zmember m;
    int rc = serve__zmember_find(q, k, &m, name);
    *there = rc == CARET_OK && m.there;
    *score = *there ? cell_of(m.score) : 0;
    return rc;
}

static int for_each(struct serve__call *q, void (*answer)(struct serve__call *q, uint64_t score))
{
    struct serve__key k;
    int rc = serve__key_read(q, &k, q->argv[1], SERVE__ZSET);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    serve__array(q, (size_t)q->argc - 2);
    for (int i = 2; i < q->argc; i++) {
        bool there;
        uint64_t score;
        if ((rc = serve__geo_find(q, &k, q->argv[i], &there, &score)) != CARET_OK)
            return rc;
        if (there)
            answer(q, score);
        else if (q->cmd->full[3] == 'p')
            serve__null_array(q);
        else
            serve__null(q);
    }
    return CARET_OK;
}

void serve__geo_position(struct serve__call *q, uint64_t score)
{
    struct caret_codec__point point = caret_codec__geo_decode(score);
    serve__array(q, 2);
    serve__geo_number(q, point.lon);
    serve__geo_number(q, point.lat);
}

static void answer_hash(struct serve__call *q, uint64_t score)
{
    char text[CARET_CODEC__GEO_TEXT];
    caret_codec__geo_text(score, text);
    serve__bulk(q, text, sizeof text);
}

int serve__cmd_geopos(struct serve__call *q)
{
    return for_each(q, serve__geo_position);
}

int serve__cmd_geohash(struct serve__call *q)
{
    return for_each(q, answer_hash);
}

int serve__cmd_geodist(struct serve__call *q)
{
    struct serve__key k;
    double metres = 1;
    bool there[2] = {false, false};
    uint64_t score[2];
    int rc = CARET_OK;
    if (q->argc == 5)
        rc = serve__geo_unit(q, 4, &metres);
    else if (q->argc > 5)
        rc = SERVE__E_SYNTAX;
    if (rc == CARET_OK)
        rc = serve__key_read(q, &k, q->argv[1], SERVE__ZSET);
    for (int i = 0; rc == CARET_OK && i < 2; i++)
        rc = serve__geo_find(q, &k, q->argv[2 + i], &there[i], &score[i]);
    if (rc != CARET_OK && rc != CARET_NONE)
        return rc;
    if (!there[0] || !there[1])
        return serve__null(q);
    serve__geo_distance(
        q, caret_codec__geo_distance(caret_codec__geo_decode(score[0]), caret_codec__geo_decode(score[1])) /
               metres);
    return CARET_OK;
}
