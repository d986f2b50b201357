/*
 * Writers are stopped at random moments while others go on: readers go on too, and never see half a transaction.
 * CARET_STOP_ROUNDS: how often.  And what no commit of today does: bytes that are saved twice.
 */
#include "log/apply.h"
#include "log/writer.h"
#include "stopped.h"

#include "shm/undo.h"

/* ------------------------------------------------------------ random moments */

static char mark[24];

static int write_pairs(caret_session *session, void *arg)
{
    struct caret__rand *r = arg;
    caret_node_buf n;

    for (int i = 0; i < 20; i++) {
        DO(caret_set(session, node(&n, "^even", i, -1), mark, strlen(mark)));
        DO(put("^fill", (int64_t)caret__rand_below(r, 400), -1, 'f', caret__rand_below(r, 90)));
        DO(caret_set(session, node(&n, "^odd", i, -1), mark, strlen(mark)));
    }
    switch (caret__rand_below(r, 8)) {
    case 0: return drop("^fill", (int64_t)caret__rand_below(r, 400), true);
    case 1: return drop_range(session, "^fill", "100", caret__rand_below(r, 2) == 0 ? "120" : "300");
    default: return CARET_OK;
    }
}

static void busy_writer(void)
{
    struct caret__rand r;

    open_both();
    caret__rand_seed(&r, (uint64_t)getpid());
    for (unsigned i = 0;; i++) {
        snprintf(mark, sizeof mark, "%d.%u", (int)getpid(), i);
        must(caret_transaction(s, write_pairs, &r, 0), "write");
        atomic_fetch_add(&shared->hits, 1);
    }
}

struct seen {
    char text[24];
    unsigned different;
};

/* All marks are of one transaction. */
static int read_pairs(caret_session *session, void *arg)
{
    struct seen *seen = arg;
    caret_node_buf n;
    caret_slice v;

    seen->different = 0;
    for (int i = 0; i < 40; i++) {
        DO(caret_get(session, node(&n, i % 2 != 0 ? "^odd" : "^even", i / 2, -1), &v));
        if (v.len >= sizeof seen->text)
            return CARET_E_INVALID;
        if (i == 0) {
            memcpy(seen->text, v.data, v.len);
            seen->text[v.len] = '\0';
        }
        seen->different += strlen(seen->text) != v.len || memcmp(seen->text, v.data, v.len) != 0;
    }
    return CARET_OK;
}

static void readers_go_on_beside_writers_stopped_at_random(void **state)
{
    const char *text = getenv("CARET_STOP_ROUNDS");
    unsigned rounds = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 300, half = 0;
    pid_t pid[3];
    struct caret__rand r;
    int status;

    (void)state;
    atomic_store(&shared->hits, 0);
    open_both();
    for (unsigned i = 0; i < 3; i++)
        pid[i] = start(busy_writer);
    caret__rand_seed(&r, 20261121);
    while (atomic_load(&shared->hits) < 3)
        usleep(1000);
    for (unsigned k = 0; k < rounds; k++) {
        unsigned i = caret__rand_below(&r, 3);
        snprintf(context, sizeof context, "round %u", k);
        patience(PATIENCE);
        usleep(caret__rand_below(&r, 3000));
        kill(pid[i], SIGSTOP);
        assert_int_equal(waitpid(pid[i], &status, WUNTRACED), pid[i]);
        if (!WIFSTOPPED(status))
            fail_msg("a writer ended: %x", (unsigned)status);
        half += atomic_load(&s->e->sh->log_head) != atomic_load(&s->e->sh->log_applied);
        for (unsigned n = 0; n < 20; n++) {
            struct seen seen;
            must(caret_transaction(s, read_pairs, &seen, 0), "read");
            if (seen.different != 0)
                fail_msg("round %u: %u marks of another transaction", k, seen.different);
        }
        kill(pid[i], SIGCONT);
    }
    print_message("%u of %u stops in half a commit, %u commits\n", half, rounds, atomic_load(&shared->hits));
    for (unsigned i = 0; i < 3; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], &status, 0);
    }
    char report[1000];
    if (caret_check(db, report, sizeof report) != CARET_OK)
        fail_msg("%s", report);
    close_both();
    alarm(0);
}

/* ---------------------------------------------------------- order of the entries */

static void save_and_spoil(struct caret__undo *u, struct caret__pte *pte, uint8_t *bytes, uint64_t lsn)
{
    caret__undo_save(u, bytes, CARET__PAGE_SIZE);
    caret__undo_publish(u);
    atomic_store(&pte->version, lsn);
    memset(bytes + CARET__PAGE_HEAD, 0x55, CARET__PAGE_USABLE);
}

/* A page that is saved, changed, saved again and changed again is what it was at first. */
static void entries_are_undone_last_first(void **state)
{
    caret_node_buf n;
    int status;

    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) { /* its engine is of no use afterwards */
        open_both();
        must(caret_set(s, node(&n, "^twice", 1, -1), "before", 6), "set");
        struct caret__engine *e = s->e;
        must(caret__writer_lock(e), "lock");
        struct caret__undo u = caret__undo_context(e, 0);
        uint64_t lsn = atomic_load(&e->sh->log_applied) + 8;
        caret_slice v;
        must(caret_get(s, &n.node, &v), "get");
        uint32_t pgno = caret__hint_get(caret__node(&n.node)).pgno;
        struct caret__pte *pte = &e->pg.ptab[pgno];
        uint8_t *bytes = e->pg.arena + (size_t)caret__pte_slot(atomic_load(&pte->word)) * CARET__PAGE_SIZE;
        atomic_store(&e->sh->log_head, lsn);
        caret__undo_begin(&u, lsn);
        save_and_spoil(&u, pte, bytes, lsn);
        save_and_spoil(&u, pte, bytes, lsn);
        must(caret_get(s, &n.node, &v), "get");
        _exit(v.len == 6 && memcmp(v.data, "before", 6) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_go_on_beside_writers_stopped_at_random),
        cmocka_unit_test(entries_are_undone_last_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return with_database(run);
}
