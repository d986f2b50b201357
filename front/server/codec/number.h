/*
 * number.h - numbers as the Redis protocol writes and reads them.
 *
 * Reading is strict: all bytes of the text belong to the number, or there is none.  Texts may contain any byte and need
 * no terminator.  Printing writes no terminator either, and returns the length.  The decimal point is that of the
 * process's locale, which must be C's.  All functions are pure.
 */
#ifndef CARET_SERVER_CODEC_NUMBER_H
#define CARET_SERVER_CODEC_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CARET_CODEC__I64_ROOM    20   /* "-9223372036854775808" */
#define CARET_CODEC__DOUBLE_ROOM 40   /* any double as %.17g */
#define CARET_CODEC__HUMAN_ROOM  5120 /* any long double as %.17Lf, and a terminator */

/* An integer as INCR reads it: an optional minus, no plus, no space, no needless zero, no -0. */
bool caret_codec__parse_i64(const char *text, size_t len, int64_t *value);

/* One half of a stream's id: what is an integer from 0 as above, and else what strtoull(3) takes as a whole. */
bool caret_codec__parse_u64(const char *text, size_t len, uint64_t *value);

size_t caret_codec__print_i64(int64_t value, char out[CARET_CODEC__I64_ROOM]);
size_t caret_codec__print_u64(uint64_t value, char out[CARET_CODEC__I64_ROOM]);

/*
 * A score, as ZADD reads it: what strtod(3) takes as a whole, also inf and hexadecimal; not nan, no space before it,
 * neither too large nor so small that it is 0.
 */
bool caret_codec__parse_double(const char *text, size_t len, double *value);

/* The same for INCRBYFLOAT and HINCRBYFLOAT: at most 5,119 bytes, and at least one.  nan is refused. */
bool caret_codec__parse_long_double(const char *text, size_t len, long double *value);

/* As 7.0 answers scores, in RESP2, RESP3 and in scripts: %.17g, inf, -inf, nan. */
size_t caret_codec__print_double(double value, char out[CARET_CODEC__DOUBLE_ROOM]);

/* The shortest of %.15g, %.16g and %.17g that reads back as the same double: how scores are stored. */
size_t caret_codec__print_shortest(double value, char out[CARET_CODEC__DOUBLE_ROOM]);

/* As INCRBYFLOAT and GEOPOS answer: %.17Lf without zeros at its end; never -0. */
size_t caret_codec__print_human(long double value, char out[CARET_CODEC__HUMAN_ROOM]);

#endif
