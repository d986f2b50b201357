/*
 * geo_search.c - which cells a shape may touch.
 *
 *     +----+----+----+
 *     | NW | N  | NE |     A grid is chosen so coarse that the shape, wherever in the middle cell its centre is,
 *     +----+----+----+     does not reach beyond the cells around it.  Then the neighbours that the box around the
 *     | W  | C  | E  |     shape does not touch are left out.
 *     +----+----+----+
 *     | SW | S  | SE |
 *     +----+----+----+
 *
 * What is found is the same for every grid, but not its order.  So the grid, the order of the cells and the rules by
 * which they are left out are Redis' own.
 */
#include "server/codec/geo_cell.h"

/* Half the length of the square map of the web: where one step, two cells, is enough. */
#define MAP_HALF 20037726.37

enum { CENTRE, NORTH, SOUTH, EAST, WEST, NORTH_EAST, NORTH_WEST, SOUTH_EAST, SOUTH_WEST };

static const struct {
    int east, north;
} direction[CARET_CODEC__GEO_RANGES] = {
    [CENTRE] = {0, 0},      [NORTH] = {0, 1},       [SOUTH] = {0, -1},
    [EAST] = {1, 0},        [WEST] = {-1, 0},       [NORTH_EAST] = {1, 1},
    [NORTH_WEST] = {-1, 1}, [SOUTH_EAST] = {1, -1}, [SOUTH_WEST] = {-1, -1},
};

bool caret_codec__geo_within(const struct caret_codec__geo_shape *shape, struct caret_codec__point point,
                             double *distance)
{
    if (shape->box) {
        struct caret_codec__point beside = {shape->centre.lon, point.lat};
        if (caret_codec__geo_north_south(point.lat, shape->centre.lat) > shape->height / 2)
            return false;
        if (caret_codec__geo_distance(point, beside) > shape->width / 2)
            return false;
        *distance = caret_codec__geo_distance(shape->centre, point);
        return true;
    }
    *distance = caret_codec__geo_distance(shape->centre, point);
    return *distance <= shape->radius;
}

/* How far the shape reaches from its centre. */
static double reach(const struct caret_codec__geo_shape *shape)
{
    double x = shape->width / 2, y = shape->height / 2;

    return shape->box ? sqrt(x * x + y * y) : shape->radius;
}

/* The box around the shape, in degrees.  Where the earth is narrower, at the side of the pole, a metre is more of
 * them. */
static struct caret_codec__geo_area bounds(const struct caret_codec__geo_shape *shape)
{
    const struct caret_codec__point at = shape->centre;
    double half_height = shape->box ? shape->height / 2 : shape->radius;
    double half_width = shape->box ? shape->width / 2 : shape->radius;
    double lat = caret_codec__degrees(half_height / CARET_CODEC__EARTH);
    double narrow = caret_codec__radians(at.lat < 0 ? at.lat - lat : at.lat + lat);
    double lon = caret_codec__degrees(half_width / CARET_CODEC__EARTH / cos(narrow));
    struct caret_codec__geo_area area = {{at.lon - lon, at.lat - lat}, {at.lon + lon, at.lat + lat}};

    return area;
}

/* A first guess at the grid: two cells of it are longer than the reach, four near a pole. */
static int guess_steps(double metres, double lat)
{
    int steps = 1;

    if (metres == 0)
        return CARET_CODEC__GEO_STEPS;
    for (; metres < MAP_HALF && steps < 64; steps++)
        metres *= 2;
    steps -= 2;
    if (fabs(lat) > 66)
        steps--;
    if (fabs(lat) > 80)
        steps--;
    return steps < 1 ? 1 : steps > CARET_CODEC__GEO_STEPS ? CARET_CODEC__GEO_STEPS : steps;
}

/* The earth is round: beyond one edge follows the other. */
static struct caret_codec__geo_cell beside(struct caret_codec__geo_cell cell, int i)
{
    uint32_t mask = ((uint32_t)1 << cell.steps) - 1;

    if (direction[i].east != 0)
        cell.lon = (cell.lon + (uint32_t)direction[i].east) & mask;
    if (direction[i].north != 0)
        cell.lat = (cell.lat + (uint32_t)direction[i].north) & mask;
    return cell;
}

/* Do the cells around this one end before the shape does? */
static bool too_fine(struct caret_codec__geo_cell cell, const struct caret_codec__geo_area *shape)
{
    return caret_codec__geo_area(beside(cell, NORTH)).max.lat < shape->max.lat ||
           caret_codec__geo_area(beside(cell, SOUTH)).min.lat > shape->min.lat ||
           caret_codec__geo_area(beside(cell, EAST)).max.lon < shape->max.lon ||
           caret_codec__geo_area(beside(cell, WEST)).min.lon > shape->min.lon;
}

/* Does the middle cell alone reach as far to that side as the shape? */
static bool needless(int i, const struct caret_codec__geo_area *cell,
                     const struct caret_codec__geo_area *shape)
{
    return (direction[i].north < 0 && cell->min.lat < shape->min.lat) ||
           (direction[i].north > 0 && cell->max.lat > shape->max.lat) ||
           (direction[i].east < 0 && cell->min.lon < shape->min.lon) ||
           (direction[i].east > 0 && cell->max.lon > shape->max.lon);
}

int caret_codec__geo_ranges(const struct caret_codec__geo_shape *shape,
                            struct caret_codec__geo_range ranges[CARET_CODEC__GEO_RANGES])
{
    struct caret_codec__geo_area box = bounds(shape), area;
    int steps = guess_steps(reach(shape), shape->centre.lat), n = 0;
    struct caret_codec__geo_cell cell = caret_codec__geo_cell(shape->centre, steps);

    if (steps > 1 && too_fine(cell, &box))
        cell = caret_codec__geo_cell(shape->centre, --steps);
    area = caret_codec__geo_area(cell);
    for (int i = 0; i < CARET_CODEC__GEO_RANGES; i++) {
        int shift = 2 * (CARET_CODEC__GEO_STEPS - steps);
        uint64_t bits = caret_codec__geo_bits(beside(cell, i));
        if (steps >= 2 && needless(i, &area, &box))
            continue;
        if (n > 0 && ranges[n - 1].min == bits << shift) /* twice in succession */
            continue;
        ranges[n].min = bits << shift;
        ranges[n++].max = (bits + 1) << shift;
    }
    return n;
}
