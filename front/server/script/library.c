/*
 * library.c - libraries of functions: library.h.
 *
 *     ^redisF             the version: a random number, another one after each change
 *     ^redisF(library)    the code of a library
 *
 * Each worker has the libraries loaded as of a version; a command that finds another one loads what differs,
 * and keeps what is the same, with the values its functions remember.  Since the version is read in the
 * transaction of the command, a function never runs beside a change of its library.
 */
#include "server/script/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "server/worker.h"

enum { LOAD_MOST = 500 /* milliseconds, as in Redis */, LOAD_STEPS = 100000 };

/* ------------------------------------------------------------------ memory */

void serve__library_free(struct serve__scripts *x, struct serve__library *l)
{
    while (l->function != NULL) {
        struct serve__function *f = l->function;
        l->function = f->next;
        if (x->L != NULL)
            luaL_unref(x->L, LUA_REGISTRYINDEX, f->code.ref);
        free(f->description);
        free(f);
    }
    free(l);
}

struct serve__library *serve__library_find(struct serve__scripts *x, const char *name)
{
    struct serve__library *l = x->library;
    while (l != NULL && strcmp(l->name, name) != 0)
        l = l->next;
    return l;
}

struct serve__function *serve__function_in(const struct serve__library *l, const char *name, size_t len)
{
    struct serve__function *f = l->function;
    while (f != NULL && (strlen(f->name) != len || memcmp(f->name, name, len) != 0))
        f = f->next;
    return f;
}

/* The same, but capital letters are as small ones: so are functions called. */
static struct serve__function *in_any_case(const struct serve__library *l, const char *name, size_t len)
{
    struct serve__function *f = serve__function_in(l, name, len);
    if (f == NULL)
        f = l->function;
    while (f != NULL && (strlen(f->name) != len || strncasecmp(f->name, name, len) != 0))
        f = f->next;
    return f;
}

struct serve__function *serve__function_find(struct serve__scripts *x, caret_slice name)
{
    struct serve__function *f = NULL;
    for (struct serve__library *l = x->library; f == NULL && l != NULL; l = l->next)
        f = in_any_case(l, name.data, name.len);
    return f;
}

bool serve__library_name_valid(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (name[i] != '_' && !(name[i] >= '0' && name[i] <= '9') &&
            !((name[i] | 32) >= 'a' && (name[i] | 32) <= 'z'))
            return false;
    return len > 0 && len < SERVE__LIBRARY_NAME;
}

/* ---------------------------------------------------------------- loading */

/* The next word of the first line. */
static caret_slice next_word(const char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\r'))
        ++*at;
    const char *word = *at;
    while (*at < end && **at != ' ' && **at != '\r')
        ++*at;
    return (caret_slice){word, (size_t)(*at - word)};
}

/* Quotes may stand around a value; a name has none in it. */
static caret_slice unquoted(caret_slice s)
{
    bool quoted = s.len >= 2 && (*s.data == '"' || *s.data == '\'') && s.data[s.len - 1] == *s.data;
    return quoted ? (caret_slice){s.data + 1, s.len - 2} : s;
}

/* The words after the engine: the name. */
static int metadata_name(struct serve__call *q, const char *at, const char *end, caret_slice *name)
{
    *name = (caret_slice){NULL, 0};
    for (caret_slice word; (word = next_word(&at, end)).len > 0;) {
        if (word.len < 5 || strncasecmp(word.data, "name=", 5) != 0)
            return serve__fail(q, "ERR Invalid metadata value given: %.*s", (int)word.len, word.data);
        if (name->data != NULL)
            return serve__fail(q, "ERR Invalid metadata value, name argument was given multiple times");
        *name = unquoted((caret_slice){word.data + 5, word.len - 5});
    }
    return name->data != NULL ? CARET_OK : serve__fail(q, "ERR Library name was not given");
}

int serve__library_metadata(struct serve__call *q, caret_slice text, char *name)
{
    const char *at = text.data,
               *end = text.len >= 2 && memcmp(at, "#!", 2) == 0 ? memchr(at, '\n', text.len) : at;
    caret_slice given;
    if (end == at)
        return serve__fail(q, "ERR Missing library metadata");
    if (end == NULL)
        return serve__fail(q, "ERR Invalid library metadata");
    caret_slice engine = next_word(&at, end);
    int rc = metadata_name(q, at, end, &given);
    if (rc != CARET_OK)
        return rc;
    if (!serve__library_name_valid(given.data, given.len))
        return serve__fail(q, SERVE__BAD_LIBRARY_NAME);
    if (engine.len != 5 || strncasecmp(engine.data, "#!lua", 5) != 0)
        return serve__fail(q, "ERR Engine '%.*s' not found", (int)engine.len - 2, engine.data + 2);
    memcpy(name, given.data, given.len);
    name[given.len] = 0;
    return CARET_OK;
}

/* The code of a library may only take so long: at that time there is nobody who could end it.  It is not compiled
 * (sandbox.lua), so the hook is looked at. */
static void look_at_clock(lua_State *L, lua_Debug *at)
{
    static const char text[] = "ERR FUNCTION LOAD timeout";
    (void)at;
    if (serve__now() - serve__scripts_here(L)->load_began < LOAD_MOST)
        return;
    serve__script_push_error(L, text, sizeof text - 1, false);
    lua_error(L);
}

/* In a protected call: run the chunk that is the second argument. */
static int load_body(lua_State *L)
{
    struct serve__scripts *x = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, x->functions);
    lua_setfenv(L, 2);
    lua_call(L, 0, 0);
    return 0;
}

static void set_loading(struct serve__scripts *x, bool yes)
{
    lua_rawgeti(x->L, LUA_REGISTRYINDEX, x->loading);
    lua_pushboolean(x->L, yes);
    lua_call(x->L, 1, 0);
}

/* Why running it failed, of the error on top of the stack. */
static int load_failed(struct serve__call *q, lua_State *L)
{
    const char *text = NULL;
    if (lua_istable(L, -1)) {
        lua_pushliteral(L, "err");
        lua_rawget(L, -2);
        text = lua_tostring(L, -1);
    }
    return serve__fail(q, "ERR Error registering functions: %s", text != NULL ? text : "ERR unknown error");
}

/* Compile and run the code of a library; x->loaded is filled. */
static int load_code(struct serve__call *q, struct serve__scripts *x, caret_slice text)
{
    lua_State *L = x->L;
    int rc = CARET_OK;
    const char *code = memchr(text.data, '\n', text.len);
    lua_settop(L, 0);
    lua_rawgeti(L, LUA_REGISTRYINDEX, x->handler);
    lua_pushcfunction(L, load_body);
    lua_pushlightuserdata(L, x);
    if (serve__script_load(L, (caret_slice){code, text.len - (size_t)(code - text.data)}, "@user_function") !=
        0) {
        const char *why = lua_tostring(L, -1);
        rc = serve__fail(q, "ERR Error compiling function: %s", why != NULL ? why : "no memory");
    } else {
        set_loading(x, true);
        x->load_began = serve__now();
        lua_sethook(L, look_at_clock, LUA_MASKCOUNT, LOAD_STEPS);
        if (lua_pcall(L, 2, 0, 1) != 0)
            rc = load_failed(q, L);
        lua_sethook(L, NULL, 0, 0);
        set_loading(x, false);
    }
    lua_settop(L, 0);
    if (rc == CARET_OK && x->loaded->function == NULL)
        rc = serve__fail(q, "ERR No functions registered");
    return rc;
}

/* Load a library, without regard to others. */
int serve__library_load(struct serve__call *q, struct serve__scripts *x, caret_slice text,
                        struct serve__library **out)
{
    char name[SERVE__LIBRARY_NAME];
    int rc = serve__library_metadata(q, text, name);
    if (rc != CARET_OK)
        return rc;
    struct serve__library *l = calloc(1, sizeof *l + text.len);
    if (l == NULL)
        return CARET_E_NOMEM;
    memcpy(l->name, name, sizeof name);
    memcpy(l->text, text.data, text.len);
    l->len = text.len;
    x->loaded = l;
    rc = load_code(q, x, (caret_slice){l->text, l->len});
    x->loaded = NULL;
    if (rc != CARET_OK) {
        serve__library_free(x, l);
        return rc;
    }
    *out = l;
    return CARET_OK;
}

/* --------------------------------------------------------------- libraries */

static int base_node(caret_node_buf *n)
{
    return caret_node_var(&n->node, sizeof *n, "^redisF", 7);
}

static int library_node(caret_node_buf *n, const char *name)
{
    int rc = base_node(n);
    return rc == CARET_OK ? caret_node_child(&n->node, sizeof *n, &n->node, name, strlen(name)) : rc;
}

/* Load the library of the node, unless it is there as it is. */
static int refresh_one(struct serve__call *q, struct serve__scripts *x, caret_node *n)
{
    caret_slice text;
    int rc = caret_get(q->s, n, &text);
    if (rc != CARET_OK)
        return rc == CARET_NONE ? CARET_OK : rc;
    if ((rc = caret_keep(q->s, &text)) != CARET_OK)
        return rc;
    for (struct serve__library *l = x->library; l != NULL; l = l->next)
        if (l->len == text.len && memcmp(l->text, text.data, text.len) == 0) {
            l->seen = true;
            return CARET_OK;
        }
    struct serve__library *l;
    if ((rc = serve__library_load(q, x, text, &l)) != CARET_OK)
        return rc == SERVE__FAILED ? CARET_OK : rc; /* a program wrote nonsense there */
    l->seen = true;
    l->next = x->library;
    x->library = l;
    return CARET_OK;
}

static void forget_unseen(struct serve__scripts *x)
{
    for (struct serve__library **p = &x->library; *p != NULL;) {
        struct serve__library *l = *p;
        if (l->seen) {
            p = &l->next;
            continue;
        }
        *p = l->next;
        serve__library_free(x, l);
    }
}

/* Have the libraries that the database has.  In a transaction. */
int serve__libraries_refresh(struct serve__call *q, struct serve__scripts **out)
{
    struct serve__scripts *x = *out = serve__scripts_of(q);
    caret_node_buf n;
    caret_slice text;
    int64_t version = 0;
    if (x == NULL)
        return CARET_E_NOMEM;
    int rc = base_node(&n);
    if (rc == CARET_OK && (rc = caret_get(q->s, &n.node, &text)) == CARET_OK &&
        !serve__read_integer(&text, &version))
        version = 0;
    if ((rc != CARET_OK && rc != CARET_NONE) || x->libraries == (uint64_t)version)
        return rc == CARET_NONE ? CARET_OK : rc;
    for (struct serve__library *l = x->library; l != NULL; l = l->next)
        l->seen = false;
    size_t mark = serve__reply_mark(q->reply);
    uint64_t errors = q->reply->errors;
    for (rc = caret_first(q->s, &n.node); rc == CARET_OK; rc = caret_next(q->s, &n.node)) {
        if ((rc = refresh_one(q, x, &n.node)) != CARET_OK)
            return rc;
    }
    serve__reply_cut(q->reply, mark);
    q->reply->errors = errors;
    if (rc != CARET_NONE)
        return rc;
    forget_unseen(x);
    x->libraries = (uint64_t)version;
    return CARET_OK;
}

/* There is a change: others load what differs.  The version is a random number, since one that is rolled back
 * must not be that of another change later. */
static int changed(struct serve__call *q)
{
    caret_node_buf n;
    char digits[24];
    int rc = base_node(&n);
    if (rc != CARET_OK)
        return rc;
    int len = snprintf(digits, sizeof digits, "%lld", (long long)(serve__random(q->r) >> 1));
    q->r->dirty++;
    return caret_set(q->s, &n.node, digits, (size_t)len);
}

/* Do functions of l have names that others have? */
static const char *clash(struct serve__scripts *x, const struct serve__library *l)
{
    for (struct serve__function *f = l->function; f != NULL; f = f->next)
        for (struct serve__library *other = x->library; other != NULL; other = other->next)
            if (strcmp(other->name, l->name) != 0 && in_any_case(other, f->name, strlen(f->name)) != NULL)
                return f->name;
    return NULL;
}

/* Store a library that was tried out.  Words of the error differ between LOAD and RESTORE. */
int serve__library_store(struct serve__call *q, struct serve__scripts *x, caret_slice text, bool replace,
                         bool restore, char *name)
{
    struct serve__library *l;
    caret_node_buf n;
    int rc = serve__library_metadata(q, text, name);
    if (rc != CARET_OK)
        return rc;
    if (!replace && serve__library_find(x, name) != NULL)
        return serve__fail(q, restore ? "ERR Library %s already exists" : "ERR Library '%s' already exists",
                           name);
    if ((rc = serve__library_load(q, x, text, &l)) != CARET_OK)
        return rc;
    const char *same = clash(x, l);
    if (same != NULL)
        rc = serve__fail(q, "ERR Function %s already exists", same);
    serve__library_free(x, l);
    if (rc == CARET_OK)
        rc = library_node(&n, name);
    if (rc == CARET_OK)
        rc = caret_set(q->s, &n.node, text.data, text.len);
    if (rc == CARET_OK)
        rc = changed(q);
    return rc;
}

void serve__libraries_forget(struct serve__scripts *x)
{
    while (x->library != NULL) {
        struct serve__library *l = x->library;
        x->library = l->next;
        serve__library_free(x, l);
    }
    x->libraries = 0;
}

int serve__library_kill(struct serve__call *q, const char *name)
{
    caret_node_buf n;
    int rc = library_node(&n, name);
    if (rc == CARET_OK)
        rc = caret_kill(q->s, &n.node);
    return rc == CARET_OK ? changed(q) : rc;
}

int serve__libraries_kill(struct serve__call *q)
{
    caret_node_buf n;
    int rc = base_node(&n);
    while (rc == CARET_OK && (rc = caret_first(q->s, &n.node)) == CARET_OK) {
        rc = caret_kill(q->s, &n.node);
        if (rc == CARET_OK)
            rc = base_node(&n);
    }
    return rc == CARET_NONE ? changed(q) : rc;
}
