/*
 * binding.h - what the C files of the Lua binding share.
 *
 * The C module is "caret.core" (in caret.so); caret/init.lua makes the module
 * `caret` of it.  Objects:
 *
 *   state     struct caret__lstate, one per Lua state, in the registry: local
 *             variables, and which database's transaction runs
 *   database  userdata struct caret__ldb, closed by close(), __gc and __close.
 *             Its user value is a table with the function db.node
 *   node      userdata struct caret__lnode with the caret_node inline; no __gc,
 *             no user value: creating one is creating 100 bytes
 *   class     of nodes, of one database: a metatable.  Its integer fields (enum
 *             caret__field) lead to the database, so every node keeps its
 *             database alive, and to what else belongs to the class
 *
 * A node whose children are worth remembering gets a metatable of its own, a copy
 * of its class's but for __index: that is a table {name = child} with weak values,
 * so that Lua finds a child again without calling C.  What is not in the table
 * comes to the __index of the table's metatable, a function of ours, which finds
 * there whose children they are (node.c).
 *
 *     node --metatable--> {__index = cache, ...}      cache --metatable--> {node, __mode, __index}
 *
 * Nodes are recognised by a magic word, not by their metatable, so that
 * subclasses may have metatables of their own.
 *
 * No Lua error crosses the engine: it never calls back into Lua.
 */
#ifndef CARET_LUA_BINDING_H
#define CARET_LUA_BINDING_H

#include <stdint.h>

#include <lauxlib.h>
#include <lua.h>

#include "caret.h"
#include "m/held.h"
#include "m/transaction.h"

#if LUA_VERSION_NUM < 502
#define caret__rawlen        lua_objlen
#define caret__setuser(L, i) lua_setfenv(L, i)
#define caret__getuser(L, i) lua_getfenv(L, i)
#else
#define caret__rawlen        lua_rawlen
#define caret__setuser(L, i) lua_setuservalue(L, i)
#define caret__getuser(L, i) lua_getuservalue(L, i)
#endif
#if LUA_VERSION_NUM >= 504
#define caret__newuserdata(L, n) lua_newuserdatauv(L, n, 0)
#else
#define caret__newuserdata(L, n) lua_newuserdata(L, n)
#endif

#define CARET__EXACT       INT64_C(9007199254740992) /* 2^53: beyond it a double skips integers */
#define CARET__LNODE_MAGIC 0x6e2e7463u
#define CARET__LDB_MAGIC   UINT64_C(0x2e2e62642e2e7463)

/* What sits at which index of a class's metatable, and of those made of it. */
enum caret__field {
    CARET__FIELD_DB = 1,       /* the database */
    CARET__FIELD_CLASS = 2,    /* the metatable of the class */
    CARET__FIELD_SUBS = 3,     /* classes made of this one by inherit(): record -> metatable, weak keys */
    CARET__FIELD_INDEX = 4,    /* our __index */
    CARET__FIELD_NEWINDEX = 5, /* our __newindex */
    CARET__FIELD_MISS = 6,     /* our __index of caches */
    CARET__FIELD_RESERVED = 7, /* "__name" -> method, as far as it was asked for */
    CARET__FIELD_PARENT = 8, /* metatable for nodes that were asked for children, if there is a special one */
    CARET__FIELD_CACHES = 9  /* caches that have methods of the class: cache -> true, weak keys */
};
#define CARET__DB_NODE 1 /* where the function db.node is in a database's user value */

/* What the running transaction was told to do, also if user code swallowed the error. */
enum caret__pending { CARET__GO_ON = 0, CARET__GO_RESTART, CARET__GO_BACK };

/* Of the newest remembered children: see recent.c. */
struct caret__recent {
    uint32_t let_go, before, held;
    int watched; /* a sentinel is there */
};

struct caret__lstate {
    caret_session *locals;  /* the state's local variables; NULL when the state is closing */
    struct caret__ldb *dbs; /* open databases */
    struct caret__ldb *txn; /* whose transaction runs */
    struct caret__recent recent;
    int trace;         /* a reference to the message handler of transactions; 0 = there is none */
    lua_State *thread; /* a coroutine that nothing runs in, there as long as the state */
};

struct caret__llog;

/* Why a database can't be used at the moment, or can only be read; 0: it can. */
enum { CARET__DB_CLOSED = 1, CARET__DB_OTHER_TXN = 2 };

struct caret__ldb {
    uint64_t magic;
    caret_db *db;
    caret_session *s;
    struct caret__lstate *st;
    struct caret__ldb *next;  /* in st->dbs */
    struct caret__llog *logs; /* open ones, changes.c */
    lua_State *thread;        /* the state's, st->thread: ffi.c asks it about hooks */
    int barred;               /* CARET__DB_* bits */
    int overridden;           /* some class of its nodes may override get or set */
    int translated; /* it is used through the module yottadb: errors (core.c) and floats (text.c) are different */
    int bytes;      /* and text in ZWR form has bytes, not characters */
    int batch;      /* commits do not wait for the disk: db:batch() */
    enum caret__pending pending;
    struct caret_m__tp tp; /* the transaction that runs */

    /* If it is used through the module yottadb: locks that the transaction took, and how many there are, each as often
     * as it was taken (lock_m.c); so many may be taken before one can have been taken 511 times, 0: not known. */
    struct caret_m__held *held;
    size_t taken, spare;
};

enum {
    CARET__LOCAL = 1,   /* a local variable: it is the state's, not the database's */
    CARET__MUTABLE = 2, /* its address changes: an iterator's, or a cursor */
    CARET__PRIMED = 4,  /* its children by name are worth remembering */
    CARET__PARENT = 8,  /* it was asked for children */
    CARET__AMONG = 16,  /* an iterator: it is among the children it walks, no longer at their parent */
    CARET__BACK = 32,   /* an iterator that goes backwards */
    CARET__MOVES = 64,  /* a cursor of the program's (cursor.c) */
    CARET__BOUND = 128  /* an iterator: it is at a bound, which it has to look at first */
};

struct caret__lnode {
    uint32_t magic;        /* first, see caret__own_node() */
    uint8_t method;        /* the last subscript is the name of this built-in method, 0 = none */
    uint8_t cached;        /* children put in its cache; 0 = it has no cache */
    uint8_t kind;          /* CARET__LOCAL, ... */
    uint8_t words;         /* bytes of `node` / 8 */
    struct caret__ldb *db; /* alive as long as the node is */
    caret_node node;       /* last: the encoded key follows */
};

/* Whose variable it is: the database's session, or the state's. */
static inline caret_session *caret__lnode_session(const struct caret__lnode *n)
{
    return n->kind & CARET__LOCAL ? n->db->st->locals : n->db->s;
}

/* A built-in method of nodes; its number is its place in caret__methods. */
struct caret__method {
    const char *name;
    lua_CFunction f;
};
#define CARET__METHODS_MAX 64
extern const struct caret__method caret__methods[];

/* Nodes as LuaJIT has them, tables; ffi.c.  NULL: it is none; make a table of the userdata on top. */
#if LUA_VERSION_NUM == 501
struct caret__lnode *caret__lnode_in_table(lua_State *L, int i);
void caret__wrap_node(lua_State *L, const struct caret__lnode *n);
void caret__add_ffi(lua_State *L);
#else
#define caret__lnode_in_table(L, i) NULL
#endif

/* A node at stack index i, or NULL. */
static inline struct caret__lnode *caret__lnode(lua_State *L, int i)
{
    struct caret__lnode *n = lua_touserdata(L, i);
    if (n == NULL)
        return caret__lnode_in_table(L, i);
    if (caret__rawlen(L, i) < sizeof *n || n->magic != CARET__LNODE_MAGIC)
        return NULL; /* a light userdata has the length 0 */
    return n;
}

/* What the value at i is, for errors: an argument that is missing is nil. */
static inline const char *caret__typename(lua_State *L, int i)
{
    return lua_isnone(L, i) ? "nil" : caret__lnode(L, i) != NULL ? "node" : luaL_typename(L, i);
}

/* Is it a table, and none that LuaJIT has for a node? */
static inline int caret__is_table(lua_State *L, int i)
{
    return lua_istable(L, i) && caret__lnode(L, i) == NULL;
}

/* Raise why the node at i can't be used. */
int caret__refuse_node(lua_State *L, int i);

/* The usable node at i, else an error. */
static inline struct caret__lnode *caret__check_node(lua_State *L, int i)
{
    struct caret__lnode *n = caret__lnode(L, i);
    if (n == NULL || n->db->barred & CARET__DB_CLOSED)
        caret__refuse_node(L, i);
    return n;
}

/* Raise INTXN: the transaction that runs is not that database's.  It can't be `what`, as `why`. */
int caret__refuse_in_txn(lua_State *L, const struct caret__ldb *d, const char *what, const char *why);

/* Does another database's transaction run that bars this one?  Not that of the process which this one was forked from:
 * what was barred for it is free again. */
int caret__is_barred(const struct caret__ldb *d);

/* To be asked before anything of session s is changed, where s is the database's or the state's. */
static inline void caret__check_change(lua_State *L, const struct caret__ldb *d, const caret_session *s)
{
    if (d->barred != 0 && s == d->s && caret__is_barred(d))
        caret__refuse_in_txn(L, d, "changed", "that would not be undone with it");
}

/* The same before locks are taken or released. */
static inline void caret__check_locks(lua_State *L, const struct caret__ldb *d)
{
    if (d->barred != 0 && caret__is_barred(d))
        caret__refuse_in_txn(L, d, "locked or unlocked",
                             "a restart would do it again, and a rollback not undo it");
}

/* A database on a server was opened, or any is about to be closed: whose waits caret__lua_interrupt() ends. */
void caret__opened_remote(caret_session *s);
void caret__closes(caret_session *s);

/* The same for the first argument of a metamethod, or an upvalue of an iterator: only the debug library can put
 * something else there, which must be a userdata of a few bytes then. */
static inline struct caret__lnode *caret__own_node(lua_State *L, int i)
{
    struct caret__lnode *n = lua_touserdata(L, i);
    if (n == NULL || n->magic != CARET__LNODE_MAGIC || n->db->barred & CARET__DB_CLOSED)
        return caret__check_node(L, i);
    return n;
}

/* The node at i for questions about its address, which a closed database answers too. */
struct caret__lnode *caret__check_address(lua_State *L, int i);

/* The database at i (any: also a closed one), or an error. */
struct caret__ldb *caret__any_db(lua_State *L, int i);

/* The usable database at i, or an error. */
struct caret__ldb *caret__check_db(lua_State *L, int i);

/* Raise a message that blames the first line outside this module. */
int caret__misuse(lua_State *L, const char *format, ...);

/* Raise that argument i is not "a node" or the like; with a hint where it is what stands before the ':' of a method. */
int caret__expected(lua_State *L, int i, const char *what);

/* For its arguments: bytes of the caller's, as messages show them, between quotes ('\0': none); pushed. */
const char *caret__push_shown(lua_State *L, const char *bytes, size_t len, char quote);

/* The same of the string or number at i; of what is neither "a table" and so on. */
const char *caret__push_shown_at(lua_State *L, int i, char quote);

/* Raise what the C API said under a database: misuse as a message with position, conflicts as
 * the sentinel the transaction loop knows, the rest as an error object. */
int caret__raise(lua_State *L, struct caret__ldb *d, int rc);
int caret__raise_text(lua_State *L, struct caret__ldb *d, int rc, const char *message);

/* M's rules of locks, where the database is used through the module yottadb.  Before one is taken: LOCKINCR2HIGH is
 * raised if it is held 511 times.  Afterwards, with what the engine said; returns that. */
void caret__locks_may_take(lua_State *L, struct caret__ldb *d, const caret_node *n);
int caret__locks_taken(struct caret__ldb *d, int rc, const caret_node *const *nodes, size_t count);

/* Before all are released: TPLOCK is raised if some were taken before the level in progress.  Is there nothing to
 * release, as another database's transaction runs?  What was taken before that is TPLOCK, too. */
void caret__locks_release_all(lua_State *L, struct caret__ldb *d);
int caret__locks_are_apart(lua_State *L, const struct caret__ldb *d);

/* For a transaction of such a database: a level is undone, is committed; all begins again.  For its end. */
void caret__locks_undo(struct caret__ldb *d, unsigned level);
void caret__locks_commit(struct caret__ldb *d, unsigned level);

/* Give back a lock of such a database.  TPLOCK is raised for one that was taken before the level in progress. */
int caret__locks_release(lua_State *L, struct caret__ldb *d, const caret_node *n);

/* Raise an error of M's by its code; of a database that is used through the module yottadb. */
int caret__raise_m(lua_State *L, int code, const char *text);

/* Is rc about such an address, of which n is a part? */
static inline int caret__is_too_long(const struct caret__ldb *d, const caret_node *n, int rc)
{
    return rc == CARET_E_KEY2BIG && d->translated && caret_node_is_local(n);
}

/* Answer a function of that name, whose arguments are those from index i on, about an address too long for a key. */
int caret__too_long(lua_State *L, const char *function, int i);

/* The function of a transaction of such a database returned the number at i, not 0.  Nothing, or a status of
 * lua_pcall() with an error on top: that number is to be obeyed. */
int caret__returned(lua_State *L, int i);

/* Raise and note: the sentinel of restart or rollback. */
int caret__raise_pending(lua_State *L, struct caret__ldb *d, enum caret__pending what);

/* Push what caret_message() says, without the name of a function of C: also the result. */
const char *caret__said(lua_State *L);

/* nil, "NAME: text", "NAME" */
int caret__fail_values(lua_State *L, int rc);

/* Make n, of `bytes` bytes, a child of parent by the string or number at i. */
int caret__sub(lua_State *L, caret_node *n, size_t bytes, const caret_node *parent, int i);

/* Make tmp the address that the values at first..last say: a name or a node, then subscripts or
 * tables of them.  caret__address_below starts at what tmp is.  0: it is a local variable of the module yottadb, and
 * too long for a key; caret__too_long() answers. */
int caret__address(lua_State *L, struct caret__ldb *d, caret_node_buf *tmp, int first, int last);
/* The same, of what is read or changed there: a node of another database is misuse. */
int caret__address_here(lua_State *L, struct caret__ldb *d, caret_node_buf *tmp, int first, int last);
int caret__address_below(lua_State *L, struct caret__ldb *d, caret_node_buf *tmp, int first, int last);
/* Is the other one of another database?  Two handles on one file are one, and a closed one is of none.  The module
 * yottadb looks for an address in whichever database is selected. */
bool caret__is_elsewhere(const struct caret__ldb *d, const struct caret__ldb *other);

/* Push a node like the one at index `like`, in room of `bytes` bytes; kind: what it is besides, 0 or CARET__MUTABLE
 * and more. */
struct caret__lnode *caret__push_like(lua_State *L, int like, const caret_node *n, size_t bytes,
                                      unsigned kind);

/* Cursors of iterators, in iter.c: push one at that address, of the kind of the node at `like`; the usable one in the
 * first upvalue; put one with room for any key in its place, when a move said BUFFER. */
struct caret__lnode *caret__push_cursor(lua_State *L, int like, const caret_node *at);
struct caret__lnode *caret__usable_cursor(lua_State *L);
struct caret__lnode *caret__widen_cursor(lua_State *L);

/* Push a step function f over the children of the node at 1, backwards if 2 is true. */
int caret__iterate(lua_State *L, lua_CFunction f);

/* Move an iterator's cursor on, and get the value there: data NULL if there is none.  value NULL: it is not wanted. */
int caret__advance(struct caret__lnode *c, caret_slice *value);

/* In a step function: the same by its cursor, in whatever room that takes; NULL: the end. */
struct caret__lnode *caret__step(lua_State *L, caret_slice *value);

/* Push the cursor as a mutable node, and the value that was stepped to. */
void caret__push_stepped(lua_State *L, struct caret__lnode *c, caret_slice value);

/* Push the last subscript (or the name) of n: a canonical integer as an integer. */
void caret__push_last(lua_State *L, const caret_node *n);

/* The text of the value at i: a string, or a number in canonical form.  NULL: it is nil. */
const char *caret__value_text(lua_State *L, struct caret__ldb *d, int i, size_t *len, char buf[64]);

/* Digits of v at the end of buf, and where they begin; a float as canonical text, NULL: it is not finite. */
const char *caret__format_integer(int64_t v, size_t *len, char buf[64]);
const char *caret__format_float(double v, size_t *len, char buf[64]);

/* The same for the module yottadb: a float as Lua writes it. */
const char *caret__value_as_lua(lua_State *L, struct caret__ldb *d, int i, size_t *len, char buf[64]);

/* Is the number at i an integer? */
static inline int caret__integer(lua_State *L, int i, int64_t *out)
{
#if LUA_VERSION_NUM >= 503
    int ok;
    *out = (int64_t)lua_tointegerx(L, i, &ok);
    return ok;
#else
    lua_Number d = lua_tonumber(L, i);
    if (!(d >= -(lua_Number)CARET__EXACT && d <= (lua_Number)CARET__EXACT) || d != (lua_Number)(int64_t)d)
        return 0;
    *out = (int64_t)d;
    return 1;
#endif
}

/* Push the number that the text says; 0 and nothing if it is none. */
int caret__push_number(lua_State *L, const char *s, size_t len);

/* short_number(text): the number whose text Caret writes so, of at most 15 digits and without an exponent; nothing:
 * it is another one, or none. */
int caret__short_number(lua_State *L);

/* An integer, as text where the numbers of this Lua can't be it. */
void caret__push_integer(lua_State *L, int64_t v);

/* Add by the rules of the module that the database is used through; the sum lives until the session's next call. */
int caret__incr_text(struct caret__ldb *d, caret_session *s, caret_node *n, const char *by, size_t len,
                     caret_slice *sum);

/* The number that the text says, if that is read without looking twice; else 0. */
int caret__plain_number(const char *s, size_t len, double *out);

/* Timeout in seconds at i: nothing waits for ever. */
uint64_t caret__timeout(lua_State *L, int i);

/* Options, in options.c: is there a table at i?  Its names are among those of the function `what`, NULL at the end. */
int caret__check_options(lua_State *L, int i, const char *what, const char *const *known);

/* The option of that name in the table at i: 0, NULL or `otherwise` if it is not given.  A path lives as long as the
 * table has it; a function stays on the stack, at the index that is returned. */
int caret__option_flag(lua_State *L, int i, const char *name, int otherwise);
int caret__option_function(lua_State *L, int i, const char *name);
lua_Number caret__option_time(lua_State *L, int i, const char *name); /* up to 1e10: nanoseconds of it fit */
uint64_t caret__option_place(lua_State *L, int i, const char *name);
size_t caret__option_bytes(lua_State *L, int i, const char *name);
const char *caret__option_path(lua_State *L, int i, const char *name);

/* The path at i, which errors call `what`. */
const char *caret__check_path(lua_State *L, int i, const char *what);

/* true, or nil and what the C API said. */
int caret__results(lua_State *L, struct caret__ldb *d, int rc);

/* Keep the remembered child on top of the stack alive until after the next collection; prepare for that. */
void caret__hold(lua_State *L, struct caret__recent *r);
void caret__open_recent(lua_State *L);

/* Push the message handler of transactions (trace.c): 1; or nothing: 0. */
int caret__push_trace(lua_State *L, const struct caret__lstate *st);
void caret__open_trace(lua_State *L);

/* What the files have to offer. */
int caret__node_get(lua_State *L), caret__node_set(lua_State *L), caret__node_number(lua_State *L);
int caret__node_get_many(lua_State *L);
int caret__node_put(lua_State *L), caret__node_put_new(lua_State *L);
int caret__node_swap(lua_State *L), caret__node_random(lua_State *L);
int caret__node_incr(lua_State *L), caret__node_kill(lua_State *L), caret__node_delete(lua_State *L);
int caret__node_data(lua_State *L), caret__node_has_value(lua_State *L), caret__node_has_tree(lua_State *L);
int caret__node_add(lua_State *L), caret__node_subtract(lua_State *L);
int caret__node_name(lua_State *L), caret__node_varname(lua_State *L), caret__node_depth(lua_State *L);
int caret__node_subsarray(lua_State *L), caret__node_repr(lua_State *L), caret__node_ismutable(lua_State *L);
int caret__node_equal(lua_State *L);
int caret__node_subscripts(lua_State *L), caret__node_pairs(lua_State *L);
int caret__node_range(lua_State *L), caret__node_walk(lua_State *L), caret__node_kill_range(lua_State *L);
int caret__node_next(lua_State *L), caret__node_previous(lua_State *L);
int caret__node_cursor(lua_State *L), caret__node_move(lua_State *L);
int caret__node_grab(lua_State *L), caret__node_release(lua_State *L), caret__node_lock(lua_State *L);
void caret__push_text(lua_State *L, caret_slice v);
void caret__push_value(lua_State *L, struct caret__ldb *d, caret_session *s, caret_node *n);
/* The same of a value that was just got, or stepped to, at n. */
void caret__push_got(lua_State *L, struct caret__ldb *d, caret_session *s, caret_node *n, caret_slice v);
void caret__set_value(lua_State *L, struct caret__ldb *d, caret_session *s, caret_node *n, int i);
int caret__node_new(lua_State *L);
void caret__close_logs(struct caret__ldb *d);
int caret__db_lock(lua_State *L), caret__variables(lua_State *L);
int caret__backup_to(lua_State *L);
int caret__transaction(lua_State *L), caret__tp(lua_State *L), caret__run_snapshot(lua_State *L);
int caret__trestart(lua_State *L), caret__trollback(lua_State *L);
int caret__restore_from(lua_State *L);

/* Caches, in cache.c: the entry of a key, its text and the letter of its kind; or write a text where an entry is, that
 * expires after ttl ms (0: never), if nothing is due for sweeping.  Times are ms since 1970; now < 0: ask the clock. */
enum { CARET__CACHE_NONE = -2001, CARET__CACHE_SLOW = -2000 };
int caret__cache_quick_get(caret_slice *v, int *kind, const struct caret__lnode *entries, const char *key,
                           size_t len, double now);
int caret__cache_quick_put(const struct caret__lnode *entries, const char *key, size_t len, const char *text,
                           size_t size, double ttl, double now, double due);

void caret__add_node(lua_State *L); /* each adds functions to the table on top */
void caret__add_cache(lua_State *L);
void caret__add_counted(lua_State *L);
void caret__add_db(lua_State *L);
void caret__add_changes(lua_State *L);
void caret__add_data(lua_State *L);
void caret__add_subtree(lua_State *L);
void caret__add_text(lua_State *L);
void caret__add_m(lua_State *L);
void caret__add_callin(lua_State *L);
void caret__functions(lua_State *L, const luaL_Reg *f);
struct caret__lstate *caret__state(lua_State *L);

/* The same of an address. */
static inline caret_session *caret__session(const struct caret__ldb *d, const caret_node *n)
{
    return caret_node_is_local(n) ? d->st->locals : d->s;
}

#endif
