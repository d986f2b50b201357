/*
 * geohash.h - positions on the earth as numbers: scores of GEOADD, texts of GEOHASH, distances, and where to search.
 *
 * A position is a score of 52 bits: 26 bits of latitude (the even ones) and 26 of longitude (the odd ones), each a
 * fraction of its range.  So positions near each other have, mostly, scores near each other.  Longitude goes from
 * -180 to 180 degrees, latitude only as far as the square map of the web does, 85.05112878 degrees.  All functions
 * are pure.
 */
#ifndef CARET_SERVER_CODEC_GEOHASH_H
#define CARET_SERVER_CODEC_GEOHASH_H

#include <stdbool.h>
#include <stdint.h>

#define CARET_CODEC__GEO_LON_MAX 180.0
#define CARET_CODEC__GEO_LAT_MAX 85.05112878
#define CARET_CODEC__GEO_TEXT    11 /* bytes of a GEOHASH text */
#define CARET_CODEC__GEO_RANGES  9

struct caret_codec__point {
    double lon, lat; /* degrees */
};

/* The score of a position; false if it is outside of the ranges above.  At their upper ends it has more than 52 bits,
 * of which a double, as scores are stored, keeps 53. */
bool caret_codec__geo_encode(struct caret_codec__point point, uint64_t *score);

/* The middle of the cell of a score, within the ranges above. */
struct caret_codec__point caret_codec__geo_decode(uint64_t score);

/* The text that geohash.org uses, of that middle: 11 characters, the last always 0, as 52 bits fill ten. */
void caret_codec__geo_text(uint64_t score, char out[CARET_CODEC__GEO_TEXT]);

/* Along the great circle of a sphere of the earth's mean radius, in metres. */
double caret_codec__geo_distance(struct caret_codec__point a, struct caret_codec__point b);

/* What to search: everything up to a distance from the centre, or in a box around it. */
struct caret_codec__geo_shape {
    struct caret_codec__point centre;
    bool box;
    double radius;        /* metres */
    double width, height; /* metres */
};

/* Is the point in the shape?  Then *distance is that from the centre, in metres. */
bool caret_codec__geo_within(const struct caret_codec__geo_shape *shape, struct caret_codec__point point,
                             double *distance);

/* Scores from min to below max. */
struct caret_codec__geo_range {
    uint64_t min, max;
};

/*
 * Ranges of scores in which all points of the shape are, and others: the cell of the centre and its neighbours, of a
 * size that fits the shape, in the order in which Redis searches them: that is the order of its answers, and of COUNT
 * n ANY.  Returns their number.  Neighbouring ranges may be the same if the shape is as large as the earth; Redis
 * then answers twice as well, except directly after each other.
 */
int caret_codec__geo_ranges(const struct caret_codec__geo_shape *shape,
                            struct caret_codec__geo_range ranges[CARET_CODEC__GEO_RANGES]);

#endif
