/*
 * eval.c - EVAL and its kin, SCRIPT: script.h.
 */
#include "server/script/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "server/conn.h"
#include "server/dispatch.h"
#include "server/script/debugger.h"
#include "server/worker.h"

/* ------------------------------------------------------------------ cache */

static void forget_texts(struct serve__scripts *x)
{
    for (unsigned i = 0; i < SERVE__SCRIPT_SLOTS; i++) {
        while (x->by_text[i] != NULL) {
            struct serve__script *s = x->by_text[i];
            x->by_text[i] = s->by_text;
            if (x->L != NULL) {
                luaL_unref(x->L, LUA_REGISTRYINDEX, s->code.ref);
                serve__driver_free(x->L, &s->driver);
            }
            free(s);
        }
        x->by_sha[i] = NULL;
    }
    x->last = NULL;
}

static struct serve__scripts *scripts_new(struct serve__worker *w)
{
    struct serve__scripts *x = calloc(1, sizeof *x);
    if (x == NULL || serve__runner_open(w, &x->run) != CARET_OK) {
        free(x);
        return NULL;
    }
    caret_session_detach(x->run.s); /* the threads that stand in use it one after another */
    x->reply.sink = &serve__lua_sink;
    x->generation = atomic_load(&w->shared->scripts);
    x->seed = serve__random(&w->run);
    x->next = w->scripts;
    w->scripts = x;
    return x;
}

/* Its Lua state is lost: what came from it is forgotten. */
void serve__scripts_forget(struct serve__scripts *x)
{
    x->L = NULL;
    forget_texts(x);
    serve__libraries_forget(x);
}

struct serve__scripts *serve__scripts_of(struct serve__call *q)
{
    struct serve__worker *w = q->w;
    struct serve__scripts *x = w->scripts;
    uint64_t generation = atomic_load_explicit(&w->shared->scripts, memory_order_acquire);
    while (x != NULL && (q->r != &w->run ? q->r != &x->run : x->used))
        x = x->next;
    if (x == NULL && (x = scripts_new(w)) == NULL)
        return NULL;
    if (x->L == NULL && (x->L = serve__script_state(x)) == NULL)
        return NULL;
    if (x->generation != generation && x->q == NULL) {
        forget_texts(x);
        x->generation = generation;
    }
    return x;
}

static unsigned slot_of_sha(const char *sha)
{
    unsigned n = 0;
    for (unsigned i = 0; i < 8; i++)
        n = n * 31 + (unsigned char)sha[i];
    return n % SERVE__SCRIPT_SLOTS;
}

/* Most often it is the one that was looked for last. */
static struct serve__script *find_text(struct serve__scripts *x, caret_slice text)
{
    struct serve__script *s = x->last;
    if (s != NULL && s->len == text.len && memcmp(s->text, text.data, text.len) == 0)
        return s;
    uint64_t hash = caret_codec__murmur64a(text.data, text.len, 0);
    s = x->by_text[hash % SERVE__SCRIPT_SLOTS];
    while (s != NULL && (s->hash != hash || s->len != text.len || memcmp(s->text, text.data, text.len) != 0))
        s = s->by_text;
    x->last = s;
    return s;
}

static struct serve__script *find_sha(struct serve__scripts *x, const char *sha)
{
    struct serve__script *s = x->by_sha[slot_of_sha(sha)];
    while (s != NULL && memcmp(s->sha, sha, SERVE__SHA) != 0)
        s = s->by_sha;
    return s;
}

/* ^redisL(sha) */
static int stored_node(caret_node_buf *node, const char *sha)
{
    caret_node_buf base;
    int rc = caret_node_var(&base.node, sizeof base, "^redisL", 7);
    return rc == CARET_OK ? caret_node_child(&node->node, sizeof *node, &base.node, sha, SERVE__SHA) : rc;
}

/* ---------------------------------------------------------------- shebang */

const char *const serve__script_flags[] = {
    "no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys", NULL,
};

bool serve__script_flag(const char *word, size_t len, unsigned *flags)
{
    const char *const *names = serve__script_flags;
    for (unsigned i = 0; names[i] != NULL; i++)
        if (strlen(names[i]) == len && memcmp(names[i], word, len) == 0) {
            *flags |= 1u << i;
            return true;
        }
    return false;
}

/* What is wrong with a first line, as it is answered. */
enum { WHY = 1000 };

static bool read_flags(const char *at, const char *end, unsigned *flags, char why[WHY])
{
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma != NULL ? comma : end;
        if (!serve__script_flag(at, (size_t)(stop - at), flags)) {
            snprintf(why, WHY, "ERR Unexpected flag in script shebang: %.*s", (int)(stop - at), at);
            return false;
        }
        at = comma != NULL ? stop + 1 : end;
    }
    return true;
}

/* One of its words; the first is the engine. */
static bool shebang_word(caret_slice word, bool engine, unsigned *flags, char why[WHY])
{
    int len = (int)word.len;
    bool known = engine ? len == 5 && memcmp(word.data, "#!lua", 5) == 0
                        : len == 0 || (len >= 6 && memcmp(word.data, "flags=", 6) == 0);
    if (!known)
        snprintf(why, WHY, "ERR %s: %.*s",
                 engine ? "Unexpected engine in script shebang" : "Unknown lua shebang option", len,
                 word.data);
    return known && (engine || len == 0 || read_flags(word.data + 6, word.data + len, flags, why));
}

/* The first line "#!lua flags=...": its flags; *code is what comes after it.  false: it is none, for a reason. */
static bool shebang(caret_slice text, unsigned *flags, caret_slice *code, char why[WHY])
{
    *code = text;
    *flags = SERVE__SCRIPT_OLD;
    if (text.len < 2 || memcmp(text.data, "#!", 2) != 0)
        return true;
    const char *end = memchr(text.data, '\n', text.len), *at = text.data;
    if (end == NULL) {
        snprintf(why, WHY, "ERR Invalid script shebang");
        return false;
    }
    *flags = 0;
    *code = (caret_slice){end, text.len - (size_t)(end - text.data)};
    bool fine = true;
    for (bool engine = true; fine && at < end; engine = false) {
        while (at < end && *at == ' ')
            at++;
        const char *word = at;
        while (at < end && *at != ' ')
            at++;
        fine = shebang_word((caret_slice){word, (size_t)(at - word)}, engine, flags, why);
    }
    return fine;
}

/* -------------------------------------------------------------- compiling */

static int count_lines(caret_slice text)
{
    int n = 1;
    while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]) != NULL)
        text.len--;
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] == '\n';
    return n;
}

static int load(struct serve__call *q, struct serve__scripts *x, caret_slice code)
{
    lua_State *L = x->L;
    bool binary = code.len > 0 && code.data[0] == '\033';
    if (!binary && serve__script_load(L, code, "@user_script") == 0)
        return CARET_OK;
    const char *why = binary ? "user_script: attempt to load a binary chunk" : lua_tostring(L, -1);
    int rc = serve__fail(q, "ERR Error compiling script (new function): %s", why != NULL ? why : "no memory");
    lua_settop(L, 0);
    return rc;
}

static int compile(struct serve__call *q, struct serve__scripts *x, caret_slice text,
                   struct serve__script **out)
{
    unsigned flags;
    caret_slice code;
    uint8_t digest[CARET_CODEC__SHA1_LEN];
    char why[WHY];
    if (!shebang(text, &flags, &code, why))
        return serve__fail(q, "%s", why);
    int rc = load(q, x, code);
    if (rc != CARET_OK)
        return rc;
    struct serve__script *s = malloc(sizeof *s + text.len);
    if (s == NULL)
        return CARET_E_NOMEM;
    caret_codec__sha1_of(text.data, text.len, digest);
    caret_codec__hex(digest, sizeof digest, s->sha);
    s->sha[SERVE__SHA] = 0;
    s->hash = caret_codec__murmur64a(text.data, text.len, 0);
    s->code = (struct serve__code){s->sha, flags,     luaL_ref(x->L, LUA_REGISTRYINDEX), count_lines(text),
                                   false,  &s->driver};
    s->driver = (struct serve__driver){.ref = LUA_NOREF, .row = LUA_NOREF, .wanted = SERVE__DRIVER_CALM};
    s->len = text.len;
    memcpy(s->text, text.data, text.len);
    s->by_text = x->by_text[s->hash % SERVE__SCRIPT_SLOTS];
    x->by_text[s->hash % SERVE__SCRIPT_SLOTS] = s;
    s->by_sha = x->by_sha[slot_of_sha(s->sha)];
    x->by_sha[slot_of_sha(s->sha)] = s;
    *out = s;
    return CARET_OK;
}

/* The script of a text, which is stored for the other workers if it is new. */
static int script_of_text(struct serve__call *q, struct serve__scripts *x, caret_slice text,
                          struct serve__script **out)
{
    if ((*out = find_text(x, text)) != NULL)
        return CARET_OK;
    int rc = compile(q, x, text, out);
    if (rc != CARET_OK || (x->debugger != NULL && !x->debugger->sync)) /* that leaves nothing */
        return rc;
    caret_node_buf node;
    caret_slice had;
    rc = stored_node(&node, (*out)->sha);
    if (rc == CARET_OK && (rc = caret_get(q->s, &node.node, &had)) == CARET_NONE)
        rc = caret_set(q->s, &node.node, text.data, text.len);
    return rc == CARET_RESTART ? rc : CARET_OK; /* a disk that is full keeps nobody from running it */
}

/* The hash in small letters. */
static bool sha_of(caret_slice name, char sha[SERVE__SHA])
{
    for (unsigned i = 0; name.len == SERVE__SHA && i < SERVE__SHA; i++)
        sha[i] = name.data[i] >= 'A' && name.data[i] <= 'Z' ? (char)(name.data[i] + 32) : name.data[i];
    return name.len == SERVE__SHA;
}

static int stored_text(struct serve__call *q, const char *sha, caret_slice *text)
{
    caret_node_buf node;
    int rc = stored_node(&node, sha);
    return rc == CARET_OK ? caret_get(q->s, &node.node, text) : rc;
}

struct serve__script *serve__script_known(struct serve__scripts *x, const caret_slice *name, bool sha)
{
    char text[SERVE__SHA];
    if (!sha)
        return find_text(x, *name);
    return sha_of(*name, text) ? find_sha(x, text) : NULL;
}

/* The script of a hash; CARET_NONE: there is none. */
static int script_of_sha(struct serve__call *q, struct serve__scripts *x, const caret_slice *name,
                         struct serve__script **out)
{
    char sha[SERVE__SHA];
    caret_slice text;
    if (!sha_of(*name, sha))
        return CARET_NONE;
    if ((*out = find_sha(x, sha)) != NULL)
        return CARET_OK;
    int rc = stored_text(q, sha, &text);
    return rc == CARET_OK ? compile(q, x, text, out) : rc;
}

/* Flags of what EVAL, FCALL or one of their kin would run; SERVE__SCRIPT_OLD: it has none, or they can't be known. */
static unsigned flags_of(struct serve__call *q)
{
    caret_slice text = q->argv[1], code;
    char sha[SERVE__SHA], why[WHY];
    unsigned flags = 0;
    bool named = q->cmd->run == serve__cmd_evalsha || q->cmd->run == serve__cmd_evalsha_ro;
    if (q->cmd->run == serve__cmd_fcall || q->cmd->run == serve__cmd_fcall_ro)
        return serve__function_flags(q);
    if (named && (!sha_of(text, sha) || stored_text(q, sha, &text) != CARET_OK))
        return SERVE__SCRIPT_OLD;
    return shebang(text, &flags, &code, why) ? flags : SERVE__SCRIPT_OLD;
}

bool serve__script_no_writes(struct serve__call *q)
{
    return flags_of(q) & SERVE__SCRIPT_NO_WRITES;
}

bool serve__script_takes_room(struct serve__call *q)
{
    return !(flags_of(q) & (SERVE__SCRIPT_OLD | SERVE__SCRIPT_NO_WRITES | SERVE__SCRIPT_ALLOW_OOM));
}

/* --------------------------------------------------------------- commands */

int serve__script_keys(struct serve__call *q, const char *what)
{
    int64_t n;
    if (!serve__read_integer(&q->argv[2], &n))
        return serve__fail(q, "%s", what);
    if (n > q->argc - 3)
        return serve__fail(q, "ERR Number of keys can't be greater than number of args");
    return n < 0 ? serve__fail(q, "ERR Number of keys can't be negative") : CARET_OK;
}

static int eval_in(struct serve__call *q, struct serve__scripts *x, bool sha, bool readonly)
{
    struct serve__script *s;
    int rc = serve__script_keys(q, "ERR value is not an integer or out of range");
    if (rc == CARET_OK)
        rc = sha ? script_of_sha(q, x, &q->argv[1], &s) : script_of_text(q, x, q->argv[1], &s);
    if (rc == CARET_NONE)
        return serve__fail(q, "NOSCRIPT No matching script. Please use EVAL.");
    if (rc != CARET_OK)
        return rc;
    if (readonly && !(s->code.flags & (SERVE__SCRIPT_OLD | SERVE__SCRIPT_NO_WRITES)))
        return serve__fail(q, "ERR Can not execute a script with write flag using *_ro command.");
    return serve__script_run(q, x, &s->code, readonly);
}

int serve__script_eval_text(struct serve__call *q, struct serve__scripts *x, bool readonly)
{
    return eval_in(q, x, false, readonly);
}

static int eval(struct serve__call *q, bool sha, bool readonly)
{
    bool debugs = (q->c->flags & SERVE__CONN_DEBUG) != 0;
    if (debugs)
        return sha ? serve__fail(q, "ERR Please use EVAL instead of EVALSHA for debugging")
                   : serve__debugger_eval(q, readonly);
    struct serve__scripts *x = serve__scripts_of(q);
    if (x == NULL)
        return CARET_E_NOMEM;
    if (sha && q->argv[1].len != SERVE__SHA)
        return serve__fail(q, "NOSCRIPT No matching script. Please use EVAL.");
    return eval_in(q, x, sha, readonly);
}

int serve__cmd_eval(struct serve__call *q)
{
    return eval(q, false, false);
}

int serve__cmd_eval_ro(struct serve__call *q)
{
    return eval(q, false, true);
}

int serve__cmd_evalsha(struct serve__call *q)
{
    return eval(q, true, false);
}

int serve__cmd_evalsha_ro(struct serve__call *q)
{
    return eval(q, true, true);
}

int serve__cmd_script_load(struct serve__call *q)
{
    struct serve__scripts *x = serve__scripts_of(q);
    struct serve__script *s;
    if (x == NULL)
        return CARET_E_NOMEM;
    int rc = script_of_text(q, x, q->argv[2], &s);
    return rc == CARET_OK ? serve__bulk(q, s->sha, SERVE__SHA) : rc;
}

int serve__cmd_script_exists(struct serve__call *q)
{
    struct serve__scripts *x = serve__scripts_of(q);
    if (x == NULL)
        return CARET_E_NOMEM;
    serve__array(q, (size_t)q->argc - 2);
    for (int i = 2; i < q->argc; i++) {
        struct serve__script *s;
        int rc = script_of_sha(q, x, &q->argv[i], &s);
        if (rc != CARET_OK && rc != CARET_NONE)
            return rc;
        serve__integer(q, rc == CARET_OK);
    }
    return CARET_OK;
}

int serve__cmd_script_flush(struct serve__call *q)
{
    caret_node_buf base;
    if (q->argc > 3 || (q->argc == 3 && !serve__is(&q->argv[2], "sync") && !serve__is(&q->argv[2], "async")))
        return serve__fail(q, "ERR SCRIPT FLUSH only support SYNC|ASYNC option");
    int rc = caret_node_var(&base.node, sizeof base, "^redisL", 7);
    if (rc == CARET_OK)
        rc = caret_kill(q->s, &base.node);
    if (rc != CARET_OK)
        return rc;
    atomic_fetch_add(&q->w->shared->scripts, 1);
    return serve__ok(q);
}

int serve__cmd_script_help(struct serve__call *q)
{
    static const char *const lines[] = {
        "SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "DEBUG (YES|SYNC|NO)",
        "    Set the debug mode for subsequent scripts executed.",
        "EXISTS <sha1> [<sha1> ...]",
        "    Return information about the existence of the scripts in the script cache.",
        "FLUSH [ASYNC|SYNC]",
        "    Flush the Lua scripts cache. Very dangerous on replicas.",
        "    When called without the optional mode argument, the behavior is determined by the",
        "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
        "    * ASYNC: Asynchronously flush the scripts cache.",
        "    * SYNC: Synchronously flush the scripts cache.",
        "KILL",
        "    Kill the currently executing Lua script.",
        "LOAD <script>",
        "    Load a script into the scripts cache without executing it.",
        "HELP",
        "    Prints this help.",
        NULL,
    };
    return serve__help(q, lines);
}
