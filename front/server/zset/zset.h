/*
 * zset.h - sorted sets as nodes: members, the index of them in order of their scores, and ranks.
 *
 *     ^redis(key)                     header (key.h); its state: what rank.c keeps there
 *     ^redis(key,member)              the score as text: "31", "0.1", "inf"; names are those of field.h
 *     ^redis(key,"",code member)      the index: one subscript, whose first bytes are the code of the score
 *     ^redis(key,"","#",level,from)   counts of parts of the index, of a large set whose ranks were asked for
 *
 * The code of a score.  A double becomes a number of 64 bits of the same order, 2^63 plus or minus its bits
 * without the sign.  From its top come 7 bits a byte, with the lowest bit of the byte set if there are more to
 * come; bytes that would be 0 up to the end are left out.  So 31 takes two bytes and 0.1 ten; no code is the
 * beginning of another; none has a byte 0, which nodes double; and bytes compare as the numbers do.  What
 * follows, the member, then decides among members of one score, in the order of its bytes even if it looks like a
 * number.  Codes of numbers below 0 begin with an `n`, so that a subscript can't look like a number either,
 * which collates elsewhere, and comes after the other names that field.h and rank.c have there.
 *   An entry of the index has an empty value, but for:
 *     '-'            the score is -0: 0 for the order, and told as it was given
 *     'l' member     a member over SERVE__FIELD_MAX bytes: the subscript has the first of them and the SHA-256.  So
 *                    those of one score that begin with the same bytes are in the order of that
 *     'L' member     both
 *
 * A set without the flag SERVE__HEAD_LARGE is what Redis keeps as a listpack.
 */
#ifndef CARET_SERVER_ZSET_H
#define CARET_SERVER_ZSET_H

#include "server/keys/field.h"

#define SERVE__ZCODE_MAX  11u
#define SERVE__ZENTRY_MAX (SERVE__ZCODE_MAX + SERVE__FIELD_MAX + 32u) /* bytes of a subscript of the index */

/* ------------------------------------------------------------------ codes: code.c */

/* A number of the order of the scores: 0 and -0 have the same. */
uint64_t serve__zorder(double score);
/* Its code; the bytes of it. */
size_t serve__zcode(char code[SERVE__ZCODE_MAX], uint64_t order);
/* The score of a subscript of the index; *used: bytes of its code. */
bool serve__zcode_read(caret_slice entry, double *score, size_t *used);

/* ---------------------------------------------------------------- members: member.c */

struct serve__zmember {
    caret_node_buf node;
    caret_slice name;
    bool there;
    double score;
};

/* Look for a member of an open key; nothing is changed.  m->there says whether it is one. */
int serve__zmember_find(struct serve__call *q, const struct serve__key *k, struct serve__zmember *m,
                        caret_slice name);
/* Give a member that was looked for this score.  The caller saves the key if the member was not there. */
int serve__zmember_put(struct serve__call *q, struct serve__key *k, struct serve__zmember *m, double score);
/* Remove a member that is there; the caller saves the key. */
int serve__zmember_remove(struct serve__call *q, struct serve__key *k, struct serve__zmember *m);

/* The score that a value of a member says. */
bool serve__zscore_read(caret_slice value, double *score);

/* The subscript of a member in the index. */
size_t serve__zentry(char entry[SERVE__ZENTRY_MAX], double score, caret_slice name);
/* The node of it; nothing is read. */
int serve__zentry_node(const struct serve__key *k, caret_node_buf *n, caret_slice entry);

/* The set becomes a large one if it gets so many members, or such a long one, that Redis makes it one. */
void serve__zset_grow(struct serve__call *q, struct serve__key *k, uint64_t count, size_t longest);

/* A score as an argument; SERVE__E_FLOAT. */
int serve__zscore_arg(struct serve__call *q, int i, double *score);

/* ------------------------------------------------------------------ walks: walk.c */

/* A place in the index.  `member` lives until the next call with the session. */
struct serve__zwalk {
    caret_node_buf node;
    bool back;
    double score;
    caret_slice member;
    size_t len; /* of the subscript */
    char text[SERVE__ZENTRY_MAX];
};

/* To the first entry from `from` on; or `back`, to the last one before it.  from->data NULL: of all.
 * CARET_NONE: there is none. */
int serve__zwalk_seek(struct serve__call *q, const struct serve__key *k, struct serve__zwalk *w, bool back,
                      const caret_slice *from);
/* To the next one, in the direction of the walk. */
int serve__zwalk_next(struct serve__call *q, struct serve__zwalk *w);
/* Forward from the entry that is n after the first one from `from` on, of all if that is empty. */
int serve__zwalk_nth(struct serve__call *q, const struct serve__key *k, struct serve__zwalk *w,
                     caret_slice from, uint64_t n);
/* n of them on. */
int serve__zwalk_skip(struct serve__call *q, struct serve__zwalk *w, uint64_t n);

/* ------------------------------------------------------------------ ranks: rank.c */

/* How many entries are before this one, which need not be there. */
int serve__zrank(struct serve__call *q, struct serve__key *k, caret_slice entry, uint64_t *rank);
/* The same of n entries.  The array is put in another order. */
struct serve__zasked {
    caret_slice entry;
    uint64_t rank;
};
int serve__zranks(struct serve__call *q, struct serve__key *k, struct serve__zasked **asked, unsigned n);
/* To the entry that has `rank` others before it. */
int serve__zrank_seek(struct serve__call *q, struct serve__key *k, struct serve__zwalk *w, bool back,
                      uint64_t rank);
/* The parts, one of each level, where an entry is or will be.  They are looked for before anything is changed: what
 * a transaction has changed is slower to look into. */
enum { SERVE__ZLEVELS = 10 };
struct serve__zpart {
    caret_node_buf node;
    uint64_t count;
    size_t len;
    char from[SERVE__ZENTRY_MAX];
};
struct serve__zparts {
    unsigned n; /* 0: nothing is counted */
    bool fits;
    caret_slice entry;
    struct serve__zpart at[SERVE__ZLEVELS + 1];
};
int serve__zrank_find(struct serve__call *q, const struct serve__key *k, struct serve__zparts *parts,
                      caret_slice entry);
/* An entry went, and one came: either may be NULL.  The index and k->count are as they are now. */
int serve__zrank_changed(struct serve__call *q, struct serve__key *k, struct serve__zparts *from,
                         struct serve__zparts *to);
/* Forget the counts, before many changes; they are made again when they are needed. */
int serve__zrank_forget(struct serve__call *q, struct serve__key *k);

/* ----------------------------------------------------------------- ranges: range.c */

enum serve__zby { SERVE__ZBY_RANK, SERVE__ZBY_SCORE, SERVE__ZBY_LEX };

struct serve__zbound {
    double score;
    caret_slice lex;
    bool open; /* the bound itself is not in the range */
    int end;   /* of lex: -1 before all members, 1 after all */
};

struct serve__zrange {
    enum serve__zby by;
    bool reverse;
    int64_t start, stop;           /* ranks */
    struct serve__zbound min, max; /* scores, members */
    int64_t offset, limit;         /* -1: all */
    uint64_t left;                 /* of a range that was begun */
};

/* Read the bounds from arguments i and i + 1, of which the first is the lower one. */
int serve__zrange_read(struct serve__call *q, int i, struct serve__zrange *r);

/* To the first entry of the range, and the next; CARET_NONE. */
int serve__zrange_first(struct serve__call *q, struct serve__key *k, struct serve__zrange *r,
                        struct serve__zwalk *w);
int serve__zrange_next(struct serve__call *q, struct serve__zrange *r, struct serve__zwalk *w);

/* ---------------------------------------------------------------- answers: answer.c */

/* Members with their scores, as RESP2 and RESP3 have them: pairs in a row, or arrays of two. */
bool serve__zpairs(const struct serve__call *q); /* arrays of two? */
void serve__zpair(struct serve__call *q, caret_slice member, double score);

/* --------------------------------------------------------------- results: bag.c */

/* Members and scores that a command puts together, in q->r->work. */
struct serve__zitem {
    double score;
    size_t at, len;
    uint32_t hash;
};
struct serve__zbag {
    struct serve__zitem *item;
    uint32_t *slot; /* of a bag that is looked up in: 1 + number of an item */
    size_t n, cap, slots, longest;
};

/* Begin an empty one, and free it. */
void serve__zbag_begin(struct serve__call *q, struct serve__zbag *b);
void serve__zbag_free(struct serve__zbag *b);
int serve__zbag_add(struct serve__call *q, struct serve__zbag *b, caret_slice member, double score);
/* The item of this member, or NULL. `serve__zbag_put` adds it to what can be found so. */
struct serve__zitem *serve__zbag_find(struct serve__call *q, const struct serve__zbag *b, caret_slice member);
int serve__zbag_put(struct serve__call *q, struct serve__zbag *b, caret_slice member, double score);
caret_slice serve__zbag_member(const struct serve__call *q, const struct serve__zitem *item);
/* By score and member; and by score alone, falling if `down`. */
void serve__zbag_sort(struct serve__call *q, struct serve__zbag *b);
int serve__zbag_answer(struct serve__call *q, const struct serve__zbag *b, bool scores);
/* The key becomes a sorted set of these, or is deleted if there are none: the number of them is answered.  It is begun
 * for `count` members of at most `longest` bytes, as far as Redis knows them in advance. */
int serve__zbag_store(struct serve__call *q, const struct serve__zbag *b, uint64_t count, size_t longest,
                      caret_slice name, const char *event);

/* ------------------------------------------------------------- removing: remove.c */

/* Take a range out of an open key, and into a bag that was begun. */
int serve__zset_take(struct serve__call *q, struct serve__key *k, struct serve__zrange *r,
                     struct serve__zbag *b);
/* After n members were removed: save or delete the key, and tell it. */
int serve__zset_removed(struct serve__call *q, struct serve__key *k, const char *event, int64_t n);

#endif
