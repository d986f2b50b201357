/*
 * geo.h - what geo.c and geo_search.c share: positions, units and distances in arguments and answers.
 */
#ifndef CARET_SERVER_GEO_H
#define CARET_SERVER_GEO_H

#include <stdio.h>

#include "server/codec/geohash.h"
#include "server/zset/zset.h"

/* Argument i is a unit: *metres of one. */
int serve__geo_unit(struct serve__call *q, int i, double *metres);

/* Arguments i and i + 1 are longitude and latitude. */
int serve__geo_point(struct serve__call *q, int i, struct caret_codec__point *point);

/* The score of a member of an open key. */
int serve__geo_find(struct serve__call *q, const struct serve__key *k, caret_slice name, bool *there,
                    uint64_t *score);

/* Answers: a coordinate, a distance of four digits after the point, a pair of coordinates. */
void serve__geo_number(struct serve__call *q, double d);
void serve__geo_distance(struct serve__call *q, double d);
void serve__geo_position(struct serve__call *q, uint64_t score);

#endif
