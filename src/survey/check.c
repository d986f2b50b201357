/*
 * check.c - is a database whole?  Pages, order, key ranges, free space, shared structures.
 *
 * Under the writer mutex all of it, or without any mutex the pages of a snapshot.  Opened read-only the last checkpoint
 * is looked at, again if another one came meanwhile.
 */
#include <stdlib.h>

#include "api/session.h"
#include "disk/meta.h"
#include "log/snapshot.h"
#include "log/writer.h"
#include "open/open.h"
#include "page/check.h"

#define CHECK_TRIES 20u /* arbitrary */

/* Is the page's bit set in that map? */
static bool in_map(const struct caret__engine *e, unsigned map, uint32_t pgno)
{
    return (e->pg.maps[map][pgno / 64u] >> (pgno % 64u) & 1u) != 0;
}

/*
 * Every page number is exactly one of: in the tree, free, waiting to be free, held for a snapshot, reserved by
 * the format.
 */
static unsigned check_space(struct caret__engine *e, const uint64_t *seen, char *report, size_t cap)
{
    const struct caret__tstate *ts = &e->sh->ts;
    uint32_t nfree = 0, nheld = 0, ndead = 0, nhollow = 0, counted = atomic_load(&e->sh->held_pages);
    unsigned findings = 0;

    for (uint32_t p = 0; p < ts->npages; p++) {
        bool is_free = in_map(e, CARET__MAP_FREE, p), held = in_map(e, CARET__MAP_HELD, p);
        bool pending = in_map(e, CARET__MAP_PENDING0, p) || in_map(e, CARET__MAP_PENDING1, p);
        bool used = (seen[p / 64u] >> (p % 64u) & 1u) != 0, fixed = caret__pgno_reserved(p);
        bool hollow = in_map(e, CARET__MAP_HOLLOW, p);
        int states = is_free + held + pending + used + fixed + hollow;
        nfree += is_free;
        nheld += held;
        ndead += pending;
        nhollow += hollow;
        if (states == 1)
            continue;
        findings++;
        caret__report(report, cap, "page %u: %s%s%s%s%s%s\n", p, states == 0 ? "leaked" : "",
                      is_free ? "free " : "", hollow ? "hollow " : "", pending ? "pending " : "",
                      held ? "held " : "", used ? "in the tree" : "");
    }
    if (nfree != ts->free_pages || nheld != counted || ndead != ts->dead_pages ||
        nhollow != atomic_load(&e->sh->hollow_pages)) {
        findings++;
        caret__report(report, cap,
                      "space: %u free pages, %u held, %u dead, %u hollow; the counters say %u, %u, %u, %u\n",
                      nfree, nheld, ndead, nhollow, ts->free_pages, counted, ts->dead_pages,
                      atomic_load(&e->sh->hollow_pages));
    }
    return findings;
}

static unsigned check_reserved(const struct caret__shared *sh, char *report, size_t cap)
{
    uint32_t n = caret__reserved_count(sh), said = atomic_load(&sh->nreserved);

    if (n == said)
        return 0;
    caret__report(report, cap, "long values: pages of %u are reserved, the counter says %u\n", n, said);
    return 1;
}

/* Every arena slot is free or belongs to one page. */
static unsigned check_slots(struct caret__engine *e, char *report, size_t cap)
{
    uint32_t n = atomic_load(&e->sh->nslots), nfree = 0;
    unsigned findings = 0;

    for (uint32_t s = 0; s < n; s++) {
        bool is_free = (e->pg.maps[CARET__MAP_SLOTS][s / 64u] >> (s % 64u) & 1u) != 0;
        uint32_t p = e->pg.owners[s];
        bool owned = p != 0 && p < e->sh->ts.npages && caret__pte_slot(atomic_load(&e->pg.ptab[p].word)) == s;
        nfree += is_free;
        if (is_free && owned) {
            findings++;
            caret__report(report, cap, "arena slot %u: free, but page %u is in it\n", s, p);
        }
    }
    if (nfree != e->sh->ts.free_slots) {
        findings++;
        caret__report(report, cap, "arena: %u free slots, the state block says %u\n", nfree,
                      e->sh->ts.free_slots);
    }
    return findings;
}

static int said(const struct caret__engine *e, unsigned findings)
{
    return findings == 0 ? CARET_OK : caret__fail(CARET_E_CORRUPT, "%s: %u findings", e->path, findings);
}

/* A view of a file that nobody changes: tree and space. */
static int check_view(struct caret__engine *e, char *report, size_t cap)
{
    uint32_t npages = e->sh->ts.npages, epoch = atomic_load(&e->sh->durable_epoch), count;
    uint64_t *seen = calloc(CARET__BITMAP_WORDS(npages), 8);
    unsigned findings = 0;

    if (seen == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory to check %u pages", npages);
    if (atomic_load(&e->sh->nslots) == 0 && caret__images_read(e, epoch, npages, &count) != CARET_OK) {
        findings++;
        caret__report(report, cap, "%s\n", caret_message());
    }
    findings += caret__tree_check(&e->pg, seen, report, cap);
    if (findings == 0)
        findings = check_space(e, seen, report, cap);
    free(seen);
    return said(e, findings);
}

/* Opened read-only: the last checkpoint is checked, again if another one came meanwhile. */
static int check_observed(struct caret__engine *of, char *report, size_t cap)
{
    for (unsigned i = 0; i < CHECK_TRIES; i++) {
        struct caret__engine *e;
        int rc = caret__engine_view(of, &e);
        if (rc != CARET_OK)
            return rc;
        report[0] = 0;
        rc = check_view(e, report, cap);
        bool over = caret__observed_over(e);
        caret__engine_view_end(e);
        if (!over)
            return rc;
    }
    report[0] = 0;
    return caret__fail(CARET_E_BUSY, "%s: checkpoints come faster than it can be checked", of->path);
}

static int no_report(const char *function, const char *report, size_t cap)
{
    return report == NULL ? caret__null(function, "report", "room for a report")
           : cap == 0 ? caret__fail(CARET_E_INVALID, "%s: cap is 0; room for a report is expected", function)
                      : caret__refuse_bytes(function, "report", report, cap);
}

int caret_check(caret_db *db, char *report, size_t cap)
{
    struct caret__engine *e;
    if (!caret__bytes_ok(report, cap) || cap == 0)
        return no_report(__func__, report, cap);
    report[0] = 0;
    int rc = caret__db_enter(__func__, db, &e);
    if (rc == CARET_OK && e->observes) {
        rc = check_observed(e, report, cap);
        caret__db_leave(e);
        return rc;
    }
    if (rc == CARET_OK)
        rc = caret__writer_lock(e);
    if (rc != CARET_OK)
        return rc;
    uint64_t *seen = calloc(CARET__BITMAP_WORDS(e->sh->ts.npages), 8);
    unsigned findings = 0;
    if (seen != NULL) {
        findings = caret__tree_check(&e->pg, seen, report, cap);
        findings += check_space(e, seen, report, cap);
        findings += check_slots(e, report, cap);
        findings += check_reserved(e->sh, report, cap);
        if (atomic_load(&e->sh->log_head) != atomic_load(&e->sh->log_applied)) {
            findings++;
            caret__report(report, cap, "log: head and applied differ under the writer mutex\n");
        }
    }
    caret__writer_unlock(e);
    if (seen == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory to check %u pages", e->sh->ts.npages);
    free(seen);
    rc = caret__locks_check(e, report, cap, &findings);
    return rc == CARET_OK || findings != 0 ? said(e, findings) : rc;
}

/* No page of a snapshot may be free, whatever the writers do. */
static unsigned check_kept(const struct caret__engine *e, const uint64_t *seen, uint64_t npages, char *report,
                           size_t cap)
{
    unsigned findings = 0;

    for (uint32_t p = 0; p < npages; p++) {
        if ((seen[p / 64u] >> (p % 64u) & 1u) == 0 || !in_map(e, CARET__MAP_FREE, p))
            continue;
        findings++;
        caret__report(report, cap, "page %u: part of a snapshot, but free\n", p);
    }
    return findings;
}

static int check_snapshot(struct caret__engine *e, const struct caret__snapshot *s, char *report, size_t cap)
{
    uint64_t *seen = calloc(CARET__BITMAP_WORDS(s->pages_mapped), 8);

    if (seen == NULL)
        return caret__fail(CARET_E_NOMEM, "no memory to check %llu pages",
                           (unsigned long long)s->pages_mapped);
    unsigned findings = caret__tree_check(&s->pg, seen, report, cap);
    findings += check_kept(e, seen, s->pages_mapped, report, cap);
    free(seen);
    int rc = caret__snapshot_check(s);
    return rc == CARET_OK ? said(e, findings) : rc;
}

int caret_check_online(caret_db *db, char *report, size_t cap)
{
    struct caret__engine *e;
    struct caret__snapshot *s;

    if (!caret__bytes_ok(report, cap) || cap == 0)
        return no_report(__func__, report, cap);
    report[0] = 0;
    if (db != NULL && !db->closed && db->options.readonly)
        return caret_check(db, report, cap); /* takes no mutex either */
    int rc = caret__db_enter_attached(__func__, db, "online check", &e);
    if (rc == CARET_OK)
        rc = caret__snapshot_open(e, &s);
    if (rc != CARET_OK)
        return rc;
    rc = check_snapshot(e, s, report, cap);
    caret__snapshot_close(s);
    return rc;
}
