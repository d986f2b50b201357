/*
 * directory.c - the subscriptions of all workers: directory.h.
 */
#include "server/meet/directory.h"

#include <sys/mman.h>

enum { TRIES = 2000 };

/* A topic; count 0: one that was. */
struct entry {
    uint64_t hash;
    uint32_t count, at, len, kind; /* kind + 1, 0: it was never used */
};

struct serve__directory {
    serve__counter version; /* odd: it is being changed */
    uint32_t overflow;
    uint32_t used;      /* slots of channels, also those of topics that were */
    uint32_t npatterns; /* of `pattern` that are, or were, in use */
    uint32_t bytes;     /* of `names` */
    uint32_t shards, channels, patterns;
    struct entry slot[SERVE__CHANNEL_SLOTS]; /* of channels, by hash: open addressing */
    struct entry pattern[SERVE__PATTERNS];
    char names[SERVE__NAMES];
};

bool serve__directory_make(struct serve__shared *s)
{
    size_t size = sizeof(struct serve__directory) * (size_t)s->nworkers;
    struct serve__directory *d =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (d == MAP_FAILED)
        return false;
    for (int i = 0; i < s->nworkers; i++)
        s->directory[i] = d + i;
    return true;
}

/* ---------------------------------------------------------------- writing */

static void begin(struct serve__directory *d)
{
    atomic_fetch_or(&d->version, 1);
    atomic_thread_fence(memory_order_release);
}

static void end(struct serve__directory *d)
{
    atomic_thread_fence(memory_order_release);
    atomic_fetch_add(&d->version, 1);
}

void serve__directory_reset(struct serve__directory *d)
{
    begin(d);
    if (d->used > 0)
        memset(d->slot, 0, sizeof d->slot);
    if (d->npatterns > 0)
        memset(d->pattern, 0, sizeof d->pattern);
    d->overflow = d->used = d->npatterns = d->bytes = d->shards = d->channels = d->patterns = 0;
    end(d);
}

void serve__directory_overflow(struct serve__directory *d, bool yes)
{
    begin(d);
    d->overflow = yes;
    end(d);
}

/* A free entry: its number + 1, 0: there is none. */
static uint32_t free_entry(struct serve__directory *d, enum serve__topic_kind kind, uint64_t hash)
{
    if (kind == SERVE__PATTERN) {
        for (uint32_t i = 0; i < d->npatterns; i++)
            if (d->pattern[i].count == 0)
                return i + 1;
        return d->npatterns < SERVE__PATTERNS ? ++d->npatterns : 0;
    }
    uint32_t at = hash % SERVE__CHANNEL_SLOTS;
    while (d->slot[at].count != 0)
        at = (at + 1) % SERVE__CHANNEL_SLOTS;
    if (d->slot[at].kind == 0) { /* it was never used */
        if (d->used == SERVE__CHANNELS)
            return 0;
        d->used++;
    }
    return at + 1;
}

static void tally(struct serve__directory *d, enum serve__topic_kind kind, uint32_t add)
{
    *(kind == SERVE__PATTERN ? &d->patterns : kind == SERVE__SHARD ? &d->shards : &d->channels) += add;
}

static bool add(struct serve__directory *d, enum serve__topic_kind kind, caret_slice name, uint64_t hash,
                uint32_t count, uint32_t *place)
{
    if (name.len > SERVE__NAMES - d->bytes || (*place = free_entry(d, kind, hash)) == 0)
        return false;
    struct entry *e = kind == SERVE__PATTERN ? &d->pattern[*place - 1] : &d->slot[*place - 1];
    *e = (struct entry){hash, count, d->bytes, (uint32_t)name.len, kind + 1};
    if (name.len > 0)
        memcpy(d->names + d->bytes, name.data, name.len);
    d->bytes += (uint32_t)name.len;
    tally(d, kind, 1);
    return true;
}

bool serve__directory_set(struct serve__directory *d, enum serve__topic_kind kind, caret_slice name,
                          uint64_t hash, uint32_t count, uint32_t *place)
{
    bool fine = true;
    begin(d);
    if (*place == 0) {
        fine = count == 0 || add(d, kind, name, hash, count, place);
    } else {
        struct entry *e = kind == SERVE__PATTERN ? &d->pattern[*place - 1] : &d->slot[*place - 1];
        e->count = count;
        if (count == 0) {
            tally(d, kind, (uint32_t)-1);
            *place = 0;
        }
    }
    end(d);
    return fine;
}

/* ---------------------------------------------------------------- reading */

/* The name of an entry, within bounds even if it is just being written. */
static caret_slice name_of(const struct serve__directory *d, const struct entry *e)
{
    bool inside = e->at <= SERVE__NAMES && e->len <= SERVE__NAMES - e->at;
    return inside ? (caret_slice){d->names + e->at, e->len} : (caret_slice){d->names, 0};
}

static bool same(caret_slice a, caret_slice b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static uint64_t find(const struct serve__directory *d, enum serve__topic_kind kind, caret_slice name,
                     uint64_t hash)
{
    uint32_t n = kind == SERVE__PATTERN ? d->npatterns : SERVE__CHANNEL_SLOTS;
    uint32_t at = kind == SERVE__PATTERN ? 0 : hash % SERVE__CHANNEL_SLOTS;
    const struct entry *list = kind == SERVE__PATTERN ? d->pattern : d->slot;
    for (uint32_t i = 0; i < n && i < SERVE__CHANNEL_SLOTS; i++, at = (at + 1) % SERVE__CHANNEL_SLOTS) {
        const struct entry *e = &list[at];
        if (e->kind == 0)
            break;
        if (e->count > 0 && e->hash == hash && e->kind == kind + 1u && same(name_of(d, e), name))
            return e->count;
    }
    return 0;
}

static uint64_t matching(const struct serve__directory *d, caret_slice channel)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < d->npatterns && i < SERVE__PATTERNS; i++) {
        const struct entry *e = &d->pattern[i];
        caret_slice p = name_of(d, e);
        if (e->count > 0 && serve__glob(p.data, p.len, channel.data, channel.len, false))
            sum += e->count;
    }
    return sum;
}

static uint64_t begin_look(const struct serve__directory *d)
{
    return atomic_load_explicit(&d->version, memory_order_acquire);
}

static bool looked_well(const struct serve__directory *d, uint64_t version)
{
    atomic_thread_fence(memory_order_acquire);
    return version % 2 == 0 && atomic_load_explicit(&d->version, memory_order_relaxed) == version;
}

uint64_t serve__directory_count(const struct serve__directory *d, enum serve__topic_kind kind,
                                caret_slice name, uint64_t hash)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t version = begin_look(d);
        uint64_t n = find(d, kind, name, hash);
        if (looked_well(d, version))
            return n;
    }
    return 0;
}

uint64_t serve__directory_listeners(const struct serve__directory *d, enum serve__topic_kind kind,
                                    caret_slice name, uint64_t hash, bool *send)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t version = begin_look(d), n = 0;
        if ((kind == SERVE__SHARD ? d->shards : d->channels) > 0)
            n = find(d, kind, name, hash);
        if (kind != SERVE__SHARD && d->patterns > 0)
            n += matching(d, name);
        *send = n > 0 || d->overflow;
        if (looked_well(d, version))
            return n;
    }
    *send = true;
    return 0;
}

static void add_names(const struct serve__directory *d, enum serve__topic_kind kind, struct serve__buffer *to)
{
    uint32_t n = kind == SERVE__PATTERN ? d->npatterns : SERVE__CHANNEL_SLOTS;
    uint32_t any = kind == SERVE__PATTERN ? d->patterns : kind == SERVE__SHARD ? d->shards : d->channels;
    const struct entry *list = kind == SERVE__PATTERN ? d->pattern : d->slot;
    for (uint32_t i = 0; any > 0 && i < n && i < SERVE__CHANNEL_SLOTS; i++) {
        const struct entry *e = &list[i];
        if (e->count == 0 || e->kind != kind + 1u)
            continue;
        caret_slice name = name_of(d, e);
        uint32_t len = (uint32_t)name.len;
        serve__buffer_add(to, &len, sizeof len);
        serve__buffer_add(to, name.data, len);
    }
}

void serve__directory_names(const struct serve__directory *d, enum serve__topic_kind kind,
                            struct serve__buffer *to)
{
    size_t place = to->len;
    for (int i = 0; i < TRIES; i++) {
        uint64_t version = begin_look(d);
        add_names(d, kind, to);
        if (looked_well(d, version))
            return;
        to->len = place;
    }
}
