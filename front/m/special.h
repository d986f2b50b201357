/*
 * special.h - intrinsic special variables: $ZSTATUS, $ZGBLDIR and so on, to be read, some to be set.
 *
 * What the process knows is answered here.  What belongs to a thread or a Lua state is asked of the front-end, by
 * struct caret_m__asker.  What can be set is kept by the front-end too, apart from $ZMAXTPTIME.
 *
 * A name begins with $, may be in any case, and abbreviated as M allows: $H, $ZGBL.
 */
#ifndef CARET_M_SPECIAL_H
#define CARET_M_SPECIAL_H

#include <stddef.h>

/* Those that can be set. */
enum caret_m__settable { CARET_M__NO_SET, CARET_M__ZGBLDIR, CARET_M__ZMAXTPTIME, CARET_M__ZSTATUS };

/* On whose behalf a variable is read.  Texts go into room, cut at cap and terminated; their whole length is
 * returned. */
struct caret_m__asker {
    void *who;
    unsigned (*tlevel)(void *who);
    unsigned (*trestart)(void *who);
    size_t (*zgbldir)(void *who, char *room, size_t cap);
    size_t (*zstatus)(void *who, char *room, size_t cap);
};

struct caret_m__special {
    const char *name; /* in full */
    size_t shortest;  /* bytes that an abbreviation has at least */
    enum caret_m__settable sets;
    size_t (*get)(const struct caret_m__asker *asker, char *room, size_t cap);
};

#define CARET_M__SPECIAL_MAX 4200u /* bytes enough for any value, terminated: a path at most */

/* What is to be done with a variable. */
enum caret_m__use { CARET_M__GET, CARET_M__SET, CARET_M__OTHER };

/*
 * The variable of that name, for that use by that function ("ydb_get_s()"), with that many subscripts.  0, or an M
 * error: INVVARNAME, ISVSUBSCRIPTED, INVSVN, ISVUNSUPPORTED, SVNOSET, MINNRSUBSCRIPTS; then `why` is its text.  *v is
 * NULL if there is none.
 */
int caret_m__special(const char *name, size_t len, enum caret_m__use use, int subscripts,
                     const char *function, const struct caret_m__special **v, char why[160]);

/* Its value: the whole length, of which less than cap bytes are in room, terminated. */
size_t caret_m__special_get(const struct caret_m__special *v, const struct caret_m__asker *asker, char *room,
                            size_t cap);

/* All of them. */
const struct caret_m__special *caret_m__specials(size_t *n);

#endif
