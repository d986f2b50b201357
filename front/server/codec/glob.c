/*
 * glob.c - match by going back to the last star.
 *
 * Every element of a pattern but the star takes exactly one byte.  So of several stars only the last one that was
 * passed has ever to be tried with more bytes: what an earlier star could take instead, the later one can take too.
 * That makes the match a loop with one place to go back to, of at most pattern * text steps, where recursion takes a
 * time that is exponential in the number of stars.
 *
 * Odd patterns mean what they mean in Redis 7.0:
 *   - A class that is not closed ends with the pattern.
 *   - In a class a range is looked for before the end: [a-] is the beginning of a range from a to ].
 *   - [] and [^] are classes without bytes: nothing, and any byte.
 *   - A backslash at the end stands for itself.
 *   - The empty text matches only the empty pattern, not even a star.
 */
#include "server/codec/glob.h"

struct pattern {
    const unsigned char *at;
    const unsigned char *end;
    bool fold;
};

static unsigned folded(unsigned c, bool fold)
{
    return fold && c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c;
}

/* One item of a class, at p->at: a byte, an escaped one, or a range.  Is c in it? */
static bool item_has(struct pattern *p, unsigned c)
{
    size_t left = (size_t)(p->end - p->at);
    unsigned low, high;

    if (*p->at == '\\' && left >= 2) {
        p->at += 2;
        return folded(p->at[-1], p->fold) == c;
    }
    low = high = folded(*p->at, p->fold);
    if (left >= 3 && p->at[1] == '-') {
        high = folded(p->at[2], p->fold);
        p->at += 2;
    }
    p->at++;
    return low <= high ? low <= c && c <= high : high <= c && c <= low;
}

/* A class, p->at after its bracket; p->at goes to what follows. */
static bool class_has(struct pattern *p, unsigned c)
{
    bool negative = p->at < p->end && *p->at == '^', found = false;

    if (negative)
        p->at++;
    while (p->at < p->end && *p->at != ']')
        found |= item_has(p, c);
    if (p->at < p->end)
        p->at++;
    return found != negative;
}

/* The element at p->at, which is not a star: does it take c?  p->at goes to the next one. */
static bool takes(struct pattern *p, unsigned c)
{
    unsigned element = *p->at++;

    c = folded(c, p->fold);
    switch (element) {
    case '?': return true;
    case '[': return class_has(p, c);
    case '\\':
        if (p->at < p->end)
            element = *p->at++;
        break;
    default: break;
    }
    return folded(element, p->fold) == c;
}

static void skip_stars(struct pattern *p)
{
    while (p->at < p->end && *p->at == '*')
        p->at++;
}

bool caret_codec__glob(const char *pattern, size_t pattern_len, const char *text, size_t text_len, bool fold)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + text_len, *retry = at;
    struct pattern p = {(const unsigned char *)pattern, (const unsigned char *)pattern + pattern_len, fold};
    const unsigned char *star = NULL; /* what follows the last star; it took the bytes before `retry` */

    if (text_len == 0)
        return pattern_len == 0;
    while (at < end) {
        if (p.at < p.end && *p.at == '*') {
            skip_stars(&p);
            if (p.at == p.end)
                return true;
            star = p.at;
            retry = at;
        } else if (p.at < p.end && takes(&p, *at)) {
            at++;
        } else if (star != NULL) {
            p.at = star;
            at = ++retry;
        } else {
            return false;
        }
    }
    skip_stars(&p);
    return p.at == p.end;
}

size_t caret_codec__glob_prefix(const char *pattern, size_t pattern_len, char *prefix, bool *whole)
{
    size_t i = 0, n = 0;

    while (i < pattern_len && pattern[i] != '*' && pattern[i] != '?' && pattern[i] != '[') {
        if (pattern[i] == '\\' && i + 1 < pattern_len)
            i++;
        prefix[n++] = pattern[i++];
    }
    *whole = i == pattern_len;
    return n;
}
