/* Positions: scores, texts and distances of the published examples; and a search finds all that is near. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/codec/geohash.h"

static const struct caret_codec__point palermo = {13.361389, 38.115556}, catania = {15.087269, 37.502669};

static uint64_t score_of(struct caret_codec__point point)
{
    uint64_t score = 0;

    assert_true(caret_codec__geo_encode(point, &score));
    return score;
}

static void positions_have_the_scores_and_texts_of_redis(void **state)
{
    char text[CARET_CODEC__GEO_TEXT];

    (void)state;
    assert_true(score_of(palermo) == 3479099956230698);
    assert_true(score_of(catania) == 3479447370796909);
    caret_codec__geo_text(score_of(palermo), text);
    assert_memory_equal(text, "sqc8b49rny0", 11);
    caret_codec__geo_text(score_of(catania), text);
    assert_memory_equal(text, "sqdtr74hyu0", 11);
    struct caret_codec__point a = caret_codec__geo_decode(score_of(palermo));
    struct caret_codec__point b = caret_codec__geo_decode(score_of(catania));
    assert_true(fabs(caret_codec__geo_distance(a, b) - 166274.1516) < 0.0001);
    assert_true(fabs(a.lon - 13.36138933897018433) < 1e-13 && fabs(a.lat - 38.11555639549629859) < 1e-13);
}

static void what_is_not_on_the_map_is_refused(void **state)
{
    uint64_t score;

    (void)state;
    assert_false(caret_codec__geo_encode((struct caret_codec__point){180.1, 0}, &score));
    assert_false(caret_codec__geo_encode((struct caret_codec__point){0, 85.06}, &score));
    assert_false(caret_codec__geo_encode((struct caret_codec__point){NAN, 0}, &score));
    assert_true(caret_codec__geo_encode((struct caret_codec__point){-180, -85.05112878}, &score));
    assert_int_equal(score, 0);
}

static double random_between(double min, double max)
{
    return min + (max - min) * ((double)random() / 2147483647.0);
}

static struct caret_codec__geo_shape random_shape(void)
{
    struct caret_codec__geo_shape shape = {.box = random() % 2};

    shape.centre.lon = random_between(-179.9, 179.9);
    shape.centre.lat = random_between(-85, 85);
    shape.radius = exp(random_between(0, 14));
    shape.width = exp(random_between(0, 14));
    shape.height = exp(random_between(0, 14));
    return shape;
}

/* A point near the centre of a shape. */
static struct caret_codec__point near(const struct caret_codec__geo_shape *shape)
{
    double metres = (shape->box ? fmax(shape->width, shape->height) : shape->radius) * 1.2;
    double lat = metres / 111000, lon = lat / cos(shape->centre.lat * M_PI / 180);
    struct caret_codec__point point = {shape->centre.lon + random_between(-lon, lon),
                                       shape->centre.lat + random_between(-lat, lat)};

    return point;
}

static bool in_ranges(uint64_t score, const struct caret_codec__geo_range *ranges, int n)
{
    for (int i = 0; i < n; i++)
        if (score >= ranges[i].min && score < ranges[i].max)
            return true;
    return false;
}

static void all_points_of_a_shape_are_in_its_ranges(void **state)
{
    unsigned inside = 0, outside = 0;

    (void)state;
    srandom(16);
    for (int round = 0; round < 3000; round++) {
        struct caret_codec__geo_shape shape = random_shape();
        struct caret_codec__geo_range ranges[CARET_CODEC__GEO_RANGES];
        int n = caret_codec__geo_ranges(&shape, ranges);
        assert_in_range(n, 1, CARET_CODEC__GEO_RANGES);
        for (int i = 0; i < 30; i++) {
            uint64_t score;
            double distance;
            if (!caret_codec__geo_encode(near(&shape), &score))
                continue;
            if (!caret_codec__geo_within(&shape, caret_codec__geo_decode(score), &distance))
                outside++;
            else if (inside++, !in_ranges(score, ranges, n))
                fail_msg("%s at %.17g %.17g of %g/%g/%g: %lu is missing", shape.box ? "box" : "circle",
                         shape.centre.lon, shape.centre.lat, shape.radius, shape.width, shape.height,
                         (unsigned long)score);
        }
    }
    assert_true(inside > 5000 && outside > 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_have_the_scores_and_texts_of_redis),
        cmocka_unit_test(what_is_not_on_the_map_is_refused),
        cmocka_unit_test(all_points_of_a_shape_are_in_its_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
