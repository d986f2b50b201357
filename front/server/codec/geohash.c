/*
 * geohash.c - cells, texts, distances; geo_search.c finds the cells of a shape.
 *
 * G. Niemeyer's geohash with a range of latitudes that makes cells square on a map, and bits from both coordinates in
 * turns (G. M. Morton, 1966).  Distances are by the haversine formula.
 *
 * The last bits of the results have to be those of Redis, so the order of the floating point operations is part of
 * the definition here.
 */
#include "server/codec/geohash.h"

#include <math.h>

#include "server/codec/geo_cell.h"

/* The low 32 bits, each followed by a 0. */
static uint64_t spread(uint64_t bits)
{
    static const uint64_t masks[] = {0x0000ffff0000ffff, 0x00ff00ff00ff00ff, 0x0f0f0f0f0f0f0f0f,
                                     0x3333333333333333, 0x5555555555555555};
    int shift = 16;

    for (int i = 0; i < 5; i++, shift /= 2)
        bits = (bits | bits << shift) & masks[i];
    return bits;
}

/* The even bits. */
static uint32_t gather(uint64_t bits)
{
    static const uint64_t masks[] = {0x3333333333333333, 0x0f0f0f0f0f0f0f0f, 0x00ff00ff00ff00ff,
                                     0x0000ffff0000ffff, 0x00000000ffffffff};

    bits &= 0x5555555555555555;
    for (int i = 0; i < 5; i++)
        bits = (bits | bits >> (1 << i)) & masks[i];
    return (uint32_t)bits;
}

uint64_t caret_codec__geo_bits(struct caret_codec__geo_cell cell)
{
    return spread(cell.lat) | spread(cell.lon) << 1;
}

/* The number of the cell, of 2^steps, in which a coordinate is. */
static uint32_t cell_of(double v, double min, double max, int steps)
{
    return (uint32_t)((v - min) / (max - min) * (double)((uint64_t)1 << steps));
}

struct caret_codec__geo_cell caret_codec__geo_cell(struct caret_codec__point point, int steps)
{
    struct caret_codec__geo_cell cell = {steps, 0, 0};

    cell.lon = cell_of(point.lon, -CARET_CODEC__GEO_LON_MAX, CARET_CODEC__GEO_LON_MAX, steps);
    cell.lat = cell_of(point.lat, -CARET_CODEC__GEO_LAT_MAX, CARET_CODEC__GEO_LAT_MAX, steps);
    return cell;
}

static double edge(uint32_t i, int steps, double min, double max)
{
    return min + i * 1.0 / (double)((uint64_t)1 << steps) * (max - min);
}

struct caret_codec__geo_area caret_codec__geo_area(struct caret_codec__geo_cell cell)
{
    const double lon = CARET_CODEC__GEO_LON_MAX, lat = CARET_CODEC__GEO_LAT_MAX;
    struct caret_codec__geo_area area;

    area.min.lon = edge(cell.lon, cell.steps, -lon, lon);
    area.max.lon = edge(cell.lon + 1, cell.steps, -lon, lon);
    area.min.lat = edge(cell.lat, cell.steps, -lat, lat);
    area.max.lat = edge(cell.lat + 1, cell.steps, -lat, lat);
    return area;
}

bool caret_codec__geo_encode(struct caret_codec__point point, uint64_t *score)
{
    const double lon = CARET_CODEC__GEO_LON_MAX, lat = CARET_CODEC__GEO_LAT_MAX;

    if (!(point.lon >= -lon && point.lon <= lon && point.lat >= -lat && point.lat <= lat))
        return false;
    *score = caret_codec__geo_bits(caret_codec__geo_cell(point, CARET_CODEC__GEO_STEPS));
    return true;
}

static double between(double min, double max, double limit)
{
    double v = (min + max) / 2;

    return v > limit ? limit : v < -limit ? -limit : v;
}

struct caret_codec__point caret_codec__geo_decode(uint64_t score)
{
    struct caret_codec__geo_cell cell = {CARET_CODEC__GEO_STEPS, gather(score >> 1), gather(score)};
    struct caret_codec__geo_area area = caret_codec__geo_area(cell);
    struct caret_codec__point point = {between(area.min.lon, area.max.lon, CARET_CODEC__GEO_LON_MAX),
                                       between(area.min.lat, area.max.lat, CARET_CODEC__GEO_LAT_MAX)};

    return point;
}

void caret_codec__geo_text(uint64_t score, char out[CARET_CODEC__GEO_TEXT])
{
    struct caret_codec__point point = caret_codec__geo_decode(score);
    struct caret_codec__geo_cell cell = {CARET_CODEC__GEO_STEPS, 0, 0};
    uint64_t bits;

    cell.lon = cell_of(point.lon, -180, 180, cell.steps);
    cell.lat = cell_of(point.lat, -90, 90, cell.steps);
    bits = caret_codec__geo_bits(cell);
    for (int i = 0; i < CARET_CODEC__GEO_TEXT - 1; i++)
        out[i] = "0123456789bcdefghjkmnpqrstuvwxyz"[bits >> (47 - 5 * i) & 31];
    out[CARET_CODEC__GEO_TEXT - 1] = '0';
}

double caret_codec__geo_distance(struct caret_codec__point a, struct caret_codec__point b)
{
    double lat1 = caret_codec__radians(a.lat), lat2 = caret_codec__radians(b.lat);
    double u, v = sin((caret_codec__radians(b.lon) - caret_codec__radians(a.lon)) / 2);

    if (v == 0)
        return caret_codec__geo_north_south(a.lat, b.lat);
    u = sin((lat2 - lat1) / 2);
    return 2.0 * CARET_CODEC__EARTH * asin(sqrt(u * u + cos(lat1) * cos(lat2) * v * v));
}
