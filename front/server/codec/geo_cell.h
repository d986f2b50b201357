/*
 * geo_cell.h - cells of the grid of positions: what geohash.c and geo_search.c share.
 *
 * With n steps there are 2^n cells from west to east and 2^n from south to north.
 */
#ifndef CARET_SERVER_CODEC_GEO_CELL_H
#define CARET_SERVER_CODEC_GEO_CELL_H

#include <math.h>

#include "server/codec/geohash.h"

#define CARET_CODEC__GEO_STEPS 26
#define CARET_CODEC__EARTH     6372797.560856 /* radius, metres */

struct caret_codec__geo_cell {
    int steps;
    uint32_t lon, lat; /* from west, from south */
};

struct caret_codec__geo_area {
    struct caret_codec__point min, max;
};

struct caret_codec__geo_cell caret_codec__geo_cell(struct caret_codec__point point, int steps);
struct caret_codec__geo_area caret_codec__geo_area(struct caret_codec__geo_cell cell);
uint64_t caret_codec__geo_bits(struct caret_codec__geo_cell cell); /* 2 * steps bits */

static inline double caret_codec__radians(double degrees)
{
    return degrees * (M_PI / 180.0);
}

static inline double caret_codec__degrees(double radians)
{
    return radians / (M_PI / 180.0);
}

/* Between two latitudes, metres. */
static inline double caret_codec__geo_north_south(double a, double b)
{
    return CARET_CODEC__EARTH * fabs(caret_codec__radians(b) - caret_codec__radians(a));
}

#endif
