/* Any bytes for the parts of the server that read what clients sent or stored: they stay inside, and agree with
 * themselves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/codec/bits.h"
#include "server/codec/geohash.h"
#include "server/codec/glob.h"
#include "server/codec/hll.h"
#include "server/codec/lcs.h"
#include "server/codec/number.h"
#include "server/codec/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int yes)
{
    if (!yes)
        abort();
}

/* What the prefix says is true of what the pattern matches. */
static void as_pattern(const uint8_t *data, size_t size)
{
    size_t len = size / 2, prefix_len;
    const char *pattern = (const char *)data, *text = pattern + len;
    char *prefix = malloc(len + 1);
    bool whole, match = caret_codec__glob(pattern, len, text, size - len, false);

    check(prefix != NULL);
    prefix_len = caret_codec__glob_prefix(pattern, len, prefix, &whole);
    check(prefix_len <= len);
    if (match)
        check(size - len >= prefix_len && memcmp(prefix, text, prefix_len) == 0);
    if (whole)
        check(match == (size - len == prefix_len && memcmp(prefix, text, prefix_len) == 0));
    (void)caret_codec__glob(pattern, len, text, size - len, true);
    free(prefix);
}

static void as_number(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    char out[CARET_CODEC__HUMAN_ROOM];
    long double sum;
    double v, again;
    uint64_t id;
    int64_t i;

    if (caret_codec__parse_i64(text, size, &i))
        check(caret_codec__print_i64(i, out) == size && memcmp(out, text, size) == 0);
    if (caret_codec__parse_u64(text, size, &id))
        (void)caret_codec__print_u64(id, out);
    if (caret_codec__parse_double(text, size, &v)) {
        check(caret_codec__parse_double(out, caret_codec__print_double(v, out), &again) && v == again);
        check(caret_codec__parse_double(out, caret_codec__print_shortest(v, out), &again) && v == again);
    }
    if (caret_codec__parse_long_double(text, size, &sum))
        check(caret_codec__print_human(sum, out) < sizeof out);
}

static void as_hyperloglog(const uint8_t *data, size_t size)
{
    static uint8_t registers[CARET_CODEC__HLL_REGISTERS];
    uint8_t *bytes = malloc(CARET_CODEC__HLL_ROOM), value[CARET_CODEC__HLL_HEADER + 4096] = "HYLL\1";
    struct caret_codec__hll hll = {bytes, 0, size % 2 ? 3000 : CARET_CODEC__HLL_LONGEST};
    uint64_t count;
    bool changed;

    check(bytes != NULL);
    size = size > 4096 ? 4096 : size;
    memcpy(value + 15, data, size); /* after a good header */
    hll.len = size < 1 ? CARET_CODEC__HLL_HEADER : 15 + size;
    check(caret_codec__hll_is(value, hll.len));
    memcpy(bytes, value, hll.len);
    for (size_t i = 0; i + 4 <= size; i += 1 + size / 16)
        if (caret_codec__hll_add(&hll, data + i, 4) < 0)
            break;
    check(hll.len <= CARET_CODEC__HLL_ROOM);
    memset(registers, 0, sizeof registers);
    bool good = caret_codec__hll_merge(registers, bytes, hll.len);
    check(!good || caret_codec__hll_count(&hll, &count, &changed));
    check(caret_codec__hll_to_dense(&hll) == good);
    free(bytes);
}

static void as_packed(const uint8_t *data, size_t size)
{
    struct caret_codec__reader r = {data, data + size, false};
    uint64_t n;
    size_t len;

    (void)caret_codec__entry_check(data, size, &n);
    while (!r.bad && r.at < r.end) {
        const uint8_t *text;
        n = caret_codec__get_count(&r, 1);
        check(n <= size);
        (void)caret_codec__get_i64(&r);
        text = caret_codec__get_text(&r, &len);
        check(text >= data && text + len <= data + size);
    }
}

static void as_strings(const uint8_t *data, size_t size)
{
    size_t half = (size > 400 ? 400 : size) / 2, total = 0;
    struct caret_codec__lcs lcs = {data, data + half, half, half, 0, NULL, 0, 0};
    struct caret_codec__piece piece;

    lcs.room = malloc(caret_codec__lcs_room(half, half, true));
    check(lcs.room != NULL);
    caret_codec__lcs_run(&lcs, true);
    while (caret_codec__lcs_next(&lcs, &piece))
        total += piece.len;
    check(total == lcs.length);
    free(lcs.room);
}

static void as_bits(const uint8_t *data, size_t size)
{
    struct caret_codec__field field;
    uint64_t from, to;
    int64_t found;

    if (size < 8 || !caret_codec__field_parse((const char *)data, 3, &field))
        field = (struct caret_codec__field){true, 1 + (unsigned)size % 64};
    from = size < 2 ? 0 : data[0] % (8 * size);
    to = size < 2 ? 0 : data[1] % (8 * size + 1);
    found = caret_codec__bits_find(data, from, to, true);
    check((found >= 0) == (caret_codec__bits_count(data, from, to) > 0));
    (void)caret_codec__field_get(data, size, from + to, field);
}

static void as_position(const uint8_t *data, size_t size)
{
    struct caret_codec__geo_range ranges[CARET_CODEC__GEO_RANGES];
    struct caret_codec__geo_shape shape;
    double v[6], metres;
    uint64_t score;

    if (size < sizeof v)
        return;
    memcpy(v, data, sizeof v);
    shape = (struct caret_codec__geo_shape){{v[0], v[1]}, size % 2, fabs(v[2]), fabs(v[3]), fabs(v[4])};
    if (caret_codec__geo_encode(shape.centre, &score)) {
        struct caret_codec__point point = caret_codec__geo_decode(score);
        check(fabs(point.lon - v[0]) < 1e-5 && fabs(point.lat - v[1]) < 1e-5);
        int n = caret_codec__geo_ranges(&shape, ranges);
        check(n >= 1 && n <= CARET_CODEC__GEO_RANGES);
        (void)caret_codec__geo_within(&shape, point, &metres);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const as[])(const uint8_t *, size_t) = {as_pattern, as_number, as_hyperloglog, as_packed,
                                                          as_strings, as_bits,   as_position};

    if (size > 0)
        as[data[0] % (sizeof as / sizeof as[0])](data + 1, size - 1);
    return 0;
}
