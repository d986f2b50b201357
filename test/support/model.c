#include "support/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "page/page.h"

unsigned model_find(const struct model *m, const uint8_t *key, size_t len, bool *found)
{
    unsigned lo = 0, hi = m->n;

    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (caret__bytes_compare(m->p[mid].key, m->p[mid].klen, key, len) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (found != NULL)
        *found = lo < m->n && caret__bytes_compare(m->p[lo].key, m->p[lo].klen, key, len) == 0;
    return lo;
}

static struct pair new_pair(const uint8_t *key, size_t len, const void *val, size_t vlen)
{
    struct pair p = {.key = malloc(len + vlen + 1), .klen = (unsigned)len, .vlen = vlen};

    if (p.key == NULL)
        abort();
    p.val = p.key + len;
    memcpy(p.key, key, len);
    if (vlen != 0)
        memcpy(p.val, val, vlen);
    return p;
}

void model_set(struct model *m, const uint8_t *key, size_t len, const void *val, size_t vlen)
{
    bool found;
    unsigned i = model_find(m, key, len, &found);
    struct pair new = new_pair(key, len, val, vlen);

    if (found) {
        free(m->p[i].key);
    } else {
        if (m->n == m->cap) {
            m->cap = m->cap == 0 ? 64 : 2 * m->cap;
            m->p = realloc(m->p, m->cap * sizeof *m->p);
            if (m->p == NULL)
                abort();
        }
        memmove(&m->p[i + 1], &m->p[i], (m->n++ - i) * sizeof *m->p);
    }
    m->p[i] = new;
}

static void drop(struct model *m, unsigned from, unsigned to)
{
    if (from >= to)
        return;
    for (unsigned i = from; i < to; i++)
        free(m->p[i].key);
    memmove(&m->p[from], &m->p[to], (m->n - to) * sizeof *m->p);
    m->n -= to - from;
}

void model_delete(struct model *m, const uint8_t *key, size_t len)
{
    bool found;
    unsigned i = model_find(m, key, len, &found);

    drop(m, i, i + found);
}

void model_kill(struct model *m, const uint8_t *key, size_t len)
{
    unsigned from = model_find(m, key, len, NULL), to = from;

    while (to < m->n && m->p[to].klen >= len && memcmp(m->p[to].key, key, len) == 0)
        to++;
    drop(m, from, to);
}

void model_kill_span(struct model *m, const struct caret__span *r)
{
    drop(m, model_find(m, r->lo, r->lo_len, NULL), model_find(m, r->hi, r->hi_len, NULL));
}

void model_clear(struct model *m)
{
    drop(m, 0, m->n);
    free(m->p);
    *m = (struct model){0};
}

void model_copy(struct model *to, const struct model *from)
{
    model_clear(to);
    *to = (struct model){.p = calloc(from->n + 1, sizeof *to->p), .n = from->n, .cap = from->n + 1};
    if (to->p == NULL)
        abort();
    for (unsigned i = 0; i < from->n; i++)
        to->p[i] = new_pair(from->p[i].key, from->p[i].klen, from->p[i].val, from->p[i].vlen);
}

unsigned random_key(struct caret__rand *r, uint8_t *key)
{
    unsigned n = 0, parts = 1 + caret__rand_below(r, 5);

    for (unsigned i = 0; i < parts; i++) {
        key[n++] = (uint8_t)('a' + caret__rand_below(r, 12));
        if (caret__rand_below(r, 3) == 0)
            key[n++] = (uint8_t)caret__rand_below(r, 255);
    }
    if (caret__rand_below(r, 40) == 0) {
        unsigned extra = caret__rand_below(r, CARET__KEY_MAX - n);
        memset(key + n, 'a' + (int)caret__rand_below(r, 3), extra);
        n += extra;
    }
    return n;
}

size_t random_value(struct caret__rand *r, unsigned seldom, uint8_t *val)
{
    size_t len = caret__rand_below(r, seldom) == 0   ? caret__rand_below(r, CARET__INLINE_MAX + 2)
                 : caret__rand_below(r, seldom) == 0 ? caret__rand_below(r, LONG_VALUE)
                                                     : caret__rand_below(r, 24);

    memset(val, (int)caret__rand_below(r, 256), len);
    if (len != 0)
        val[caret__rand_below(r, (uint32_t)len)] ^= 1;
    return len;
}
