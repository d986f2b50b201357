/*
 * check.c - is a page what page.h says?  Findings in words.
 */
#include <stdarg.h>
#include <stdio.h>

#include "page/check.h"

void caret__report(char *report, size_t cap, const char *fmt, ...)
{
    size_t at = strlen(report);
    va_list ap;
    if (at + 1 >= cap)
        return;
    va_start(ap, fmt);
    vsnprintf(report + at, cap - at, fmt, ap);
    va_end(ap);
}

/* Marks a byte range as used; false if part of it was, or it is outside the heap. */
static bool claim(uint8_t *used, const struct caret__page *p, unsigned off, unsigned len)
{
    if (off < p->heap || off + len > CARET__PAGE_SIZE)
        return len == 0;
    if (memchr(used + off, 1, len) != NULL)
        return false;
    memset(used + off, 1, len);
    return true;
}

static bool check_slot(const struct caret__page *p, unsigned i, uint8_t *used, char *report, size_t cap)
{
    const struct caret__slot *s = &p->slot[i];
    struct caret__entry e = caret__page_entry(p, i);
    bool ok = true;

    if (e.klen != s->klen || !claim(used, p, s->off, (unsigned)caret__entry_bytes(e.klen, e.vlen))) {
        caret__report(report, cap, "page %u: slot %u: entry at %u overlaps or leaves the heap\n", p->pgno, i,
                      s->off);
        return false;
    }
    if (s->head != caret__key_head(e.key, e.klen)) {
        caret__report(report, cap, "page %u: slot %u: head does not fit the key\n", p->pgno, i);
        ok = false;
    }
    if (p->type == CARET__PAGE_INNER && e.vlen != CARET__CHILD_LEN) {
        caret__report(report, cap, "page %u: slot %u: child reference of %u bytes\n", p->pgno, i, e.vlen);
        ok = false;
    }
    if (p->prefix_len + (unsigned)e.klen > CARET__KEY_MAX) {
        caret__report(report, cap, "page %u: slot %u: key of %u bytes\n", p->pgno, i, p->prefix_len + e.klen);
        ok = false;
    }
    if (i > 0) {
        struct caret__entry b = caret__page_entry(p, i - 1);
        if (caret__bytes_compare(b.key, b.klen, e.key, e.klen) >= 0) {
            caret__report(report, cap, "page %u: slots %u and %u are out of order\n", p->pgno, i - 1, i);
            ok = false;
        }
    }
    return ok;
}

static bool check_hints(const struct caret__page *p, char *report, size_t cap)
{
    unsigned dist = p->count / (CARET__HINTS + 1);
    for (unsigned i = 0; dist != 0 && i < CARET__HINTS; i++) {
        if (p->hint[i] != p->slot[(i + 1) * dist].head) {
            caret__report(report, cap, "page %u: hint %u is wrong\n", p->pgno, i);
            return false;
        }
    }
    return true;
}

bool caret__page_check(const struct caret__page *p, uint32_t pgno, char *report, size_t cap)
{
    uint8_t used[CARET__PAGE_SIZE] = {0};
    bool ok = true;
    unsigned free_bytes;

    if (!caret__page_sane(p, pgno, p->level)) {
        caret__report(report, cap,
                      "page %u: header is damaged (says page %u, type %u, level %u, %u slots, heap %u)\n",
                      pgno, p->pgno, p->type, p->level, p->count, p->heap);
        return false;
    }
    if (!claim(used, p, p->prefix_off, p->prefix_len)) {
        caret__report(report, cap, "page %u: prefix lies outside of the heap\n", pgno);
        return false;
    }
    free_bytes = CARET__PAGE_SIZE - p->heap - p->prefix_len;
    for (unsigned i = 0; i < p->count; i++) {
        struct caret__entry e = caret__page_entry(p, i);
        ok &= check_slot(p, i, used, report, cap);
        free_bytes -= (unsigned)caret__entry_bytes(e.klen, e.vlen); /* right if nothing overlaps */
    }
    if (ok && free_bytes != p->garbage) {
        caret__report(report, cap, "page %u: %u bytes of garbage, header says %u\n", pgno, free_bytes,
                      p->garbage);
        ok = false;
    }
    return check_hints(p, report, cap) && ok;
}
