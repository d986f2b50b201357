/*
 * key.h - keys of Redis as nodes.
 *
 *     ^redis(key)               database 0; ^redis1 to ^redis15 the others
 *       value a plain string: the bytes themselves, if they don't begin with C1 and there is nothing else to keep
 *                               else a header:
 *         C1 type flags         type: one of SERVE__STRING...; flags: what follows
 *         [expiry, 8 bytes]     SERVE__HEAD_EXPIRES: milliseconds since 1970
 *         [count, 8 bytes]      not of strings: elements
 *         [length, 4 bytes, name]  SERVE__HEAD_LONG: the name of the key, see below
 *         the rest              of a string its bytes; of others what their type keeps here (`state`)
 *     ^redis(key,field)         what is in a collection: field.h
 *     ^redisX(ms,db,key)        an empty value for each key that expires; it may outlive its key
 *
 * Numbers of the header are little-endian and of fixed width, so that a change of them is one in place.
 *   A name of over SERVE__NAME_MAX bytes, or one that begins as such a subscript does, has the subscript FF
 * 'K' and the 32 bytes of its SHA-256, and its header holds the name.
 *   A node with children but no value is a hash that a program made without a header: its count is found by a
 * walk, and written at the first change.
 *   An expired key is one that is not there: each look at a header compares its expiry with the clock of the
 * turn, and the sweep of a turn (expire.h) deletes what is due before any command of that turn is run.
 */
#ifndef CARET_SERVER_KEY_H
#define CARET_SERVER_KEY_H

#include "server/call.h"

#ifdef CARET_SMALL /* encoded keys are short there */
#define SERVE__NAME_MAX 24u
#else
#define SERVE__NAME_MAX 200u
#endif
#define SERVE__HASHED        34u                               /* bytes of the subscript of a longer one */
#define SERVE__SUBSCRIPT_MAX (SERVE__NAME_MAX + SERVE__HASHED) /* room for either */

enum serve__type {
    SERVE__ANY = 0,
    SERVE__STRING = 's',
    SERVE__LIST = 'l',
    SERVE__SETTYPE = 'e',
    SERVE__ZSET = 'z',
    SERVE__HASH = 'h',
    SERVE__STREAM = 'x'
};

enum {
    SERVE__HEAD_MARK = 0xc1,
    SERVE__HEAD_EXPIRES = 1,
    SERVE__HEAD_LONG = 2,
    SERVE__HEAD_LARGE = 4,
    SERVE__HEAD_TEXT = 8, /* an integer that Redis keeps as text: INCRBYFLOAT made it */
    SERVE__HEAD_KEPT = SERVE__HEAD_LARGE | SERVE__HEAD_TEXT
};

#define SERVE__STATE_MAX    96u
#define SERVE__EMBEDDED_MAX 44u /* bytes of a string that Redis calls embstr; a longer one is raw */

/* A key that was opened.  All of it is a copy, but `value`. */
struct serve__key {
    caret_node_buf node;   /* ^redis(key), or that of a mapped string that is there */
    caret_slice name;      /* of the caller */
    enum serve__type type; /* SERVE__ANY: there is no such key */
    unsigned flags;        /* of the header; SERVE__HEAD_LARGE: for whoever answers OBJECT ENCODING */
    unsigned db;
    bool exists;    /* when it was opened */
    bool mapped;    /* its node is one of a program's: map.h */
    bool counted;   /* false: a hash without a header; serve__key_count() walks */
    uint64_t count; /* elements; to be changed by the command, and saved */
    int64_t expiry; /* milliseconds since 1970; 0: none.  serve__key_expire() changes it */
    size_t state_len;
    unsigned char state[SERVE__STATE_MAX]; /* of its type, in the header */
    caret_slice value; /* bytes of a string, in memory of the session: until its next call */
};

/* The node of the key argv[1], which is not a long name: the one that the pipeline has made, or r->first. */
caret_node *serve__key_first(struct serve__call *q, int *rc);

/* The node of a key below ^redis; nothing is read.  A string may be elsewhere: map.h. */
int serve__key_node(struct serve__call *q, caret_node_buf *node, caret_slice name);

/* Open a key.  CARET_OK: it is there, and is of this type (SERVE__ANY: any).  CARET_NONE: there is none,
 * k->exists is false.  SERVE__E_TYPE, and what caret_get() says. */
int serve__key_open(struct serve__call *q, struct serve__key *k, caret_slice name, enum serve__type type);

/* The same for what Redis looks up as a reader, also in a command that writes: whether the key was there, of whatever
 * type, is counted (keyspace_hits, keyspace_misses), and that it was not is told (the event keymiss). */
int serve__key_read(struct serve__call *q, struct serve__key *k, caret_slice name, enum serve__type type);
/* Count and tell it, after a look for k that returned rc: rc. */
int serve__key_seen(struct serve__call *q, int rc, const struct serve__key *k);
/* Count it alone. */
void serve__key_looked(struct serve__call *q, bool hit);

/* The same, and the value of a node below it, both by one look: *value has no data if that has none. k->node
 * is made already. */
int serve__key_open2(struct serve__call *q, struct serve__key *k, caret_slice name, enum serve__type type,
                     caret_node_buf *below, caret_slice *value);

/* The same of one key, in a command that changes it: CARET_OK too if there is none.  It is of that type then,
 * with the count 0, and is made by serve__key_save().  What is left of an expired key is deleted. */
int serve__key_change(struct serve__call *q, struct serve__key *k, caret_slice name, enum serve__type type);

/* Open the key that has this subscript, which is its name or the hash of it; k->name is NULL for a plain one
 * with a long name that has no header any more.  Expired or not.  As serve__key_open(); for the sweep. */
int serve__key_of_subscript(struct serve__call *q, struct serve__key *k, caret_slice subscript);

/* Write the header of a collection after a change of count, state or flags.  With the count 0 the key is
 * deleted, but for a stream.  Only what differs is written. */
int serve__key_save(struct serve__call *q, struct serve__key *k);

/* The key becomes a string, whatever it was; expiry 0: it does not expire. */
int serve__key_set_string(struct serve__call *q, struct serve__key *k, const void *data, size_t len,
                          int64_t expiry);

/* The same of bytes that were changed in place: OBJECT ENCODING calls them raw, however short they are
 * (SERVE__HEAD_LARGE). */
int serve__key_set_raw(struct serve__call *q, struct serve__key *k, const void *data, size_t len,
                       int64_t expiry);

/* The same of a number that OBJECT ENCODING calls embstr, even if it is an integer (SERVE__HEAD_TEXT). */
int serve__key_set_text(struct serve__call *q, struct serve__key *k, const char *text, size_t len,
                        int64_t expiry);

/* Give a key that is there another expiry, 0: none.  Its value stays. */
int serve__key_expire(struct serve__call *q, struct serve__key *k, int64_t expiry);

/* Delete the key with all below it, and its entry among those that expire. */
int serve__key_delete(struct serve__call *q, struct serve__key *k);

/* Move all of `from` to `to`, or copy it, with its expiry; what was at `to` is deleted. */
int serve__key_move(struct serve__call *q, struct serve__key *to, struct serve__key *from, bool copy);

/* Elements of a collection: k->count, counted first if it has no header. */
int serve__key_count(struct serve__call *q, struct serve__key *k);

/*
 * All keys of a database, in the order of their nodes: begin, then next until CARET_NONE. *name lives until
 * the next call with the session; of `key` everything but node, name and value is valid.  Expired ones are
 * passed over.
 */
struct serve__keys {
    caret_node_buf node;
    unsigned db;
    int map;                 /* -1: below ^redis; or of a program's nodes (map.h), which come after them */
    bool begun, expired_too; /* expired_too: set by whoever wants keys that are due, but not deleted yet */
    size_t subscript_len;
    char subscript[SERVE__SUBSCRIPT_MAX]; /* of the node where it is; of a program's the name */
};
void serve__keys_begin(struct serve__call *q, struct serve__keys *i, unsigned db);
/* The same of those alone that are nodes of programs, of which there are some: serve__maps. */
void serve__keys_begin_mapped(struct serve__call *q, struct serve__keys *i);
/* After the key with this subscript, or of a program's nodes this name, which need not be there. */
int serve__keys_after(struct serve__call *q, struct serve__keys *i, unsigned db, bool mapped,
                      caret_slice subscript);
int serve__keys_next(struct serve__call *q, struct serve__keys *i, struct serve__key *key);

/* How many keys a database has, how many of them expire, and in how many milliseconds all together. */
struct serve__keys_count {
    uint64_t all, expire;
    double ttl;
};
int serve__count_keys(struct serve__call *q, unsigned db, struct serve__keys_count *n);

/* What OBJECT ENCODING calls it. */
const char *serve__key_encoding(const struct serve__key *k);

/* "string", "list" ... */
const char *serve__type_name(enum serve__type type);

#endif
