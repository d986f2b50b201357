#include "support/archived.h"

#include "base/rand.h"
#include "shm/layout.h"

char archive_dir[96], backup[112], restored[112];
struct moment *moments;
_Atomic uint32_t *n_moments;

int setup_archive(void **state)
{
    int rc = setup(state);
    snprintf(archive_dir, sizeof archive_dir, "%s/archive", dir);
    snprintf(backup, sizeof backup, "%s/backup.caret", dir);
    snprintf(restored, sizeof restored, "%s/restored.caret", dir);
    if (rc == 0)
        rc = mkdir(archive_dir, 0700);
    n_moments = mmap(NULL, 4096 + MOMENTS * sizeof *moments, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    moments = (struct moment *)(void *)((char *)(void *)n_moments + 4096);
    return rc;
}

caret_db *open_archived(void)
{
    caret_options o = options();
    caret_db *db = NULL;
    o.archive = archive_dir;
    o.log_size = CARET__LOG_MIN;
    OK(caret_open(path, &o, &db));
    return db;
}

void note_moment(caret_db *db)
{
    uint32_t i = atomic_load(n_moments);

    if (i == MOMENTS)
        return;
    OK(caret_durable(db, NULL, &moments[i].lsn));
    moments[i].digest = digest(db);
    atomic_store(n_moments, i + 1);
}

struct pair {
    int i;
    struct caret__rand *r;
};

static int set_some(caret_session *s, void *arg)
{
    const struct pair *p = arg;
    caret_node_buf n;

    for (int k = 0; k < 5; k++) {
        node_of(&n, p->i + 7 * k);
        size_t len = k == 3 && p->i % 4 == 0 ? 3000 : 40;
        int rc = caret_set(s, &n.node, text, text_of(p->i + k, len, text));
        if (rc != CARET_OK)
            return rc;
    }
    node_of(&n, p->i + 1);
    return caret_delete(s, &n.node);
}

static int kill_some(caret_session *s, int from)
{
    char lo[12], hi[12];
    const caret_slice bounds[] = {{lo, (size_t)sprintf(lo, "%d", from)},
                                  {hi, (size_t)sprintf(hi, "%d", from + 20)}};
    caret_node_buf n;

    OK(caret_node_var(&n.node, sizeof n, "^t", 2));
    return caret_kill_range(s, &n.node, &bounds[0], &bounds[1], 0);
}

void work(caret_db *db, uint64_t seed, unsigned rounds, unsigned every)
{
    struct caret__rand r;
    caret_session *s;
    caret_node_buf n;

    caret__rand_seed(&r, seed);
    OK(caret_session_open(db, &s));
    for (unsigned i = 0; i < rounds; i++) {
        int at = (int)caret__rand_below(&r, 300);
        struct pair p = {at, &r};
        node_of(&n, at);
        switch (caret__rand_below(&r, 9)) {
        case 0: OK(caret_transaction(s, set_some, &p, 0)); break;
        case 1: OK(caret_delete(s, &n.node)); break;
        case 2: OK(caret_incr(s, &n.node, "3", 1, NULL)); break;
        case 3:
            if (at < 10)
                OK(caret_node_parent(&n.node, sizeof n, &n.node));
            OK(caret_kill(s, &n.node));
            break;
        case 5: OK(kill_some(s, at)); break;
        case 4: OK(caret_set(s, &n.node, text, text_of(at, 2000 + caret__rand_below(&r, 9000), text))); break;
        default: OK(caret_set(s, &n.node, text, text_of(at, 10 + caret__rand_below(&r, 90), text))); break;
        }
        if (every != 0 && i % every == 0)
            note_moment(db);
    }
    caret_session_close(s);
}

void remove_restored(void)
{
    char command[400];
    snprintf(command, sizeof command, "rm -f %s*", restored);
    assert_int_equal(system(command), 0);
}

caret_restore_options from_archive(uint64_t lsn)
{
    return (caret_restore_options){.size = sizeof(caret_restore_options),
                                   .archive = archive_dir,
                                   .lsn = lsn,
                                   .shm_dir = shm_dir,
                                   .any_fs = 1};
}
