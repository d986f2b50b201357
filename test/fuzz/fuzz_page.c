/* Any bytes as a page: every function for readers, and the check, stay inside of it and come to an end. */
#include <stdlib.h>

#include "page/check.h"
#include "page/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

static void look(const struct caret__page *p, const uint8_t *key, size_t len)
{
    uint8_t buf[CARET__KEY_MAX];
    bool found;
    unsigned pos = caret__page_find(p, key, len, &found);

    if (pos > CARET__MAX_SLOTS)
        abort();
    (void)caret__page_child(p, caret__page_child_index(p, key, len));
    (void)caret__page_child_runs(p, pos);
    if (pos < caret__page_count(p)) {
        struct caret__entry e = caret__page_entry(p, pos);
        uint8_t sum = 0;
        for (unsigned i = 0; i < e.klen; i++)
            sum += e.key[i];
        for (unsigned i = 0; i < e.vlen; i++)
            sum += e.val[i];
        sink = sum;
    }
    for (unsigned i = 0; i < caret__page_count(p); i++)
        if (caret__page_key(p, i, buf) > sizeof buf)
            abort();
}

/* The first byte is the length of a key, which follows; the rest is the page, zeros after it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char report[4096] = "";
    size_t len = size != 0 ? data[0] : 0;

    if (size < 1 + len)
        return 0;
    struct caret__page *p = calloc(1, CARET__PAGE_SIZE); /* a block of its own: one byte beyond is noticed */
    uint8_t *key = malloc(len + !len);
    if (p == NULL || key == NULL)
        abort();
    memcpy(key, data + 1, len);
    size_t n = size - 1 - len;
    memcpy(p, data + 1 + len, n < CARET__PAGE_SIZE ? n : CARET__PAGE_SIZE);
    look(p, key, len);
    (void)caret__page_sane(p, p->pgno, p->level);
    (void)caret__page_check(p, p->pgno, report, sizeof report);
    free(key);
    free(p);
    return 0;
}
