/*
 * acl.c - the users of all workers, and the checks of each command: acl.h.
 */
#include "server/admin/acl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "server/codec/digest.h"
#include "server/dispatch.h"
#include "server/meet/pubsub.h"
#include "server/worker.h"

static struct serve__user *users;  /* by name */
static struct serve__user *gone;   /* connections may have pointers to them until rebind() */
static struct serve__user *nobody; /* has no rights, and no name that can be given */

bool serve__acl_make(struct serve__shared *s)
{
    static const char line[] = "user default on nopass ~* &* +@all\n";
    s->acl =
        mmap(NULL, sizeof *s->acl, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->acl == MAP_FAILED)
        return false;
    memcpy(s->acl->text[0], line, sizeof line);
    s->acl->version = 2;
    return true;
}

/* ------------------------------------------------------------------ users */

struct serve__user *serve__users(void)
{
    return users;
}

struct serve__user *serve__user_find(caret_slice name)
{
    struct serve__user *u = users;
    while (u != NULL && (u->len != name.len || memcmp(u->name, name.data, name.len) != 0))
        u = u->next;
    return u;
}

struct serve__user *serve__user_of(const struct serve__conn *c)
{
    return c->user != NULL ? c->user : serve__user_find((caret_slice){"default", 7});
}

const char *serve__user_name(const struct serve__conn *c)
{
    return c->user != NULL ? c->user->name : "default";
}

bool serve__user_known(struct serve__worker *w, caret_slice name)
{
    (void)w;
    return serve__user_find(name) != NULL;
}

static struct serve__user **place_of(struct serve__user **list, caret_slice name)
{
    while (*list != NULL) {
        size_t len = (*list)->len < name.len ? (*list)->len : name.len;
        int order = memcmp((*list)->name, name.data, len);
        if (order > 0 || (order == 0 && (*list)->len >= name.len))
            break;
        list = &(*list)->next;
    }
    return list;
}

static void retire(struct serve__user *u)
{
    u->next = gone;
    gone = u;
}

static void put(struct serve__user **list, struct serve__user *u)
{
    struct serve__user **at = place_of(list, (caret_slice){u->name, u->len});
    struct serve__user *old = *at;
    if (old != NULL && old->len == u->len && memcmp(old->name, u->name, u->len) == 0) {
        u->next = old->next;
        retire(old);
    } else {
        u->next = old;
    }
    *at = u;
}

void serve__acl_put(struct serve__user *u)
{
    put(&users, u);
}

bool serve__acl_delete(caret_slice name)
{
    struct serve__user **at = place_of(&users, name), *u = *at;
    if (u == NULL || u->len != name.len || memcmp(u->name, name.data, name.len) != 0)
        return false;
    *at = u->next;
    retire(u);
    return true;
}

/* ------------------------------------------------------------------ lines */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* After the parenthesis that ends a selector: the one after a form feed, or before a space. */
static const char *selector_end(const char *at, const char *end)
{
    for (const char *p = at; p + 1 < end; p++)
        if (p[0] == '\f' && p[1] == ')')
            return p + 2;
    while (at < end && !(*at == ')' && (at + 1 == end || is_space(at[1]))))
        at++;
    return at < end ? at + 1 : end;
}

bool serve__acl_word(const char **at, const char *end, caret_slice *word)
{
    while (*at < end && is_space(**at))
        ++*at;
    const char *from = *at;
    if (from < end && *from == '(')
        *at = selector_end(from, end);
    else
        while (*at < end && !is_space(**at))
            ++*at;
    *word = (caret_slice){from, (size_t)(*at - from)};
    return *at > from;
}

/* Is there one of that name already?  Then `text` says so. */
static bool is_among(const struct serve__user *list, const struct serve__user *u, char text[128])
{
    while (list != NULL && (list->len != u->len || memcmp(list->name, u->name, u->len) != 0))
        list = list->next;
    if (list != NULL)
        snprintf(text, 128, "Duplicate user '%.*s' found", (int)(u->len < 90 ? u->len : 90), u->name);
    return list != NULL;
}

/* "user NAME word ...": NULL, or what is wrong. */
static const char *parse_line(const char *at, const char *end, bool all_channels, struct serve__user **list)
{
    static char text[128];
    caret_slice word;
    if (!serve__acl_word(&at, end, &word) || *word.data == '#')
        return NULL;
    if (!serve__is(&word, "user") || at == end)
        return "line should start with user keyword";
    at++;
    const char *stop =
        memchr(at, ' ', (size_t)(end - at)); /* of the name, which may begin with a parenthesis */
    word = (caret_slice){at, (size_t)((stop != NULL ? stop : end) - at)};
    at += word.len;
    struct serve__user *u = serve__user_new(word, all_channels);
    if (u == NULL)
        return "no memory";
    const char *wrong = NULL;
    while (wrong == NULL && serve__acl_word(&at, end, &word))
        wrong = serve__user_apply(u, word, all_channels);
    if (wrong == NULL && is_among(*list, u, text))
        wrong = text;
    if (wrong != NULL)
        serve__user_free(u);
    else
        put(list, u);
    return wrong;
}

static void free_all(struct serve__user *list)
{
    while (list != NULL) {
        struct serve__user *u = list;
        list = u->next;
        serve__user_free(u);
    }
}

const char *serve__acl_parse(const char *text, size_t len, bool all_channels, char error[256])
{
    struct serve__user *list = NULL;
    int number = 1;
    for (const char *at = text, *end = text + len; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        const char *wrong = parse_line(at, stop, all_channels, &list);
        if (wrong != NULL) {
            snprintf(error, 256, "%d: %s.", number, wrong);
            free_all(list);
            return error;
        }
        at = stop + 1;
    }
    struct serve__user *keep = users;
    users = list;
    if (serve__user_find((caret_slice){"default", 7}) == NULL) {
        struct serve__user *u = serve__user_new((caret_slice){"default", 7}, true);
        static const char *const words[] = {"on", "nopass", "allkeys", "allcommands"};
        for (int i = 0; u != NULL && i < 4; i++)
            serve__user_apply(u, (caret_slice){words[i], strlen(words[i])}, true);
        if (u != NULL)
            put(&users, u);
    }
    while (keep != NULL) {
        struct serve__user *u = keep;
        keep = u->next;
        retire(u);
    }
    return NULL;
}

/* ---------------------------------------------------------------- refresh */

static bool unlimited(const struct serve__user *u)
{
    uint64_t all = ~(uint64_t)0;
    for (size_t i = 0; i < sizeof u->root.commands / sizeof *u->root.commands; i++)
        all &= u->root.commands[i];
    return u->root.all_keys && u->root.all_channels && u->root.future && all == ~(uint64_t)0;
}

static bool may_listen(const struct serve__user *u, caret_slice channel, bool is_pattern)
{
    for (const struct serve__selector *s = &u->root; s != NULL; s = s->next) {
        if (s->all_channels)
            return true;
        for (size_t i = 0; i < s->channels.n; i++) {
            const struct serve__text *t = &s->channels.v[i];
            if (is_pattern ? t->len == channel.len && memcmp(t->data, channel.data, t->len) == 0
                           : serve__glob(t->data, t->len, channel.data, channel.len, false))
                return true;
        }
    }
    return false;
}

static bool may_keep(const struct serve__conn *c, const struct serve__user *u)
{
    for (int kind = 0; kind < 3; kind++) {
        caret_slice name;
        for (uint32_t i = 0; serve__topic_at(c, i, (enum serve__topic_kind)kind, &name); i++)
            if (name.data != NULL && !may_listen(u, name, kind == SERVE__PATTERN))
                return false;
    }
    return true;
}

/* Connections have pointers to the users that were: to those of the same name, or they end.  After ACL LOAD all of
 * named users do. */
static void rebind(struct serve__worker *w)
{
    bool loaded = w->acl_loads != w->shared->acl->loads;
    w->acl_loads = w->shared->acl->loads;
    w->limits = serve__user_find((caret_slice){"default", 7});
    if (w->limits != NULL && unlimited(w->limits))
        w->limits = NULL;
    for (struct serve__conn *c = w->conns; c != NULL; c = c->next) {
        if (c->user != NULL && c->user != nobody) {
            struct serve__user *now = serve__user_find((caret_slice){c->user->name, c->user->len});
            now = loaded && now != serve__user_find((caret_slice){"default", 7}) ? NULL : now;
            c->user = now != NULL ? now : nobody;
            if (now == NULL) { /* it is another, or none: until the connection has ended it may do nothing */
                c->flags |= c == w->serving ? SERVE__CONN_CLOSE : SERVE__CONN_DEAD;
                serve__conn_wake(w, c);
            }
        }
        const struct serve__user *u = serve__user_of(c);
        if (c->subscriptions != NULL && u != NULL && !may_keep(c, u)) {
            c->flags |= c == w->serving ? SERVE__CONN_CLOSE : SERVE__CONN_DEAD;
            serve__conn_wake(w, c);
        }
    }
}

static void adopt(struct serve__worker *w)
{
    if (nobody == NULL && (nobody = serve__user_new((caret_slice){"", 0}, false)) == NULL)
        return;
    struct serve__acl *a = w->shared->acl;
    const char *text = a->text[a->version >> 1 & 1 ? 0 : 1];
    char error[256];
    w->acl_version = a->version;
    if (serve__acl_parse(text, strlen(text), false, error) != NULL)
        serve__log("users: %s", error);
    rebind(w);
    for (struct serve__conn *c = w->conns; c != NULL; c = c->next)
        if (c->flags & SERVE__CONN_AWAY) /* its script may be looking at one: the next time */
            return;
    free_all(gone);
    gone = NULL;
}

void serve__acl_refresh(struct serve__worker *w)
{
    if (w->acl_version == w->shared->acl->version)
        return;
    serve__acl_begin(w);
    serve__acl_end(w);
}

void serve__acl_begin(struct serve__worker *w)
{
    serve__shared_lock(w->shared);
    if (w->acl_version != w->shared->acl->version)
        adopt(w);
}

void serve__users_text(struct serve__buffer *b, bool exact)
{
    struct serve__buffer one = {0};
    for (const struct serve__user *u = users; u != NULL; u = u->next) {
        one.len = 0;
        serve__user_text(u, &one, exact);
        serve__buffer_add(b, one.data, one.len);
        serve__buffer_add(b, "\n", 1);
    }
    serve__buffer_free(&one);
}

/* To a half; false: there is no room, or no memory. */
static bool write_lines(char *half)
{
    struct serve__buffer b = {0};
    serve__users_text(&b, true);
    bool fits = !b.failed && b.len < SERVE__ACL_BYTES;
    if (fits) {
        memcpy(half, b.data, b.len);
        half[b.len] = 0;
    }
    serve__buffer_free(&b);
    return fits;
}

bool serve__acl_write(struct serve__worker *w)
{
    struct serve__acl *a = w->shared->acl;
    bool fits = write_lines(a->text[a->version >> 1 & 1]);
    if (fits)
        a->version += 2;
    adopt(w);
    return fits;
}

void serve__acl_end(struct serve__worker *w)
{
    serve__shared_unlock(w->shared);
}

/* All of a file; *len is SIZE_MAX if it can't be read. */
static char *read_file(const char *path, size_t *len)
{
    char *text = malloc(SERVE__ACL_BYTES);
    FILE *f = fopen(path, "re");
    *len = f != NULL && text != NULL ? fread(text, 1, SERVE__ACL_BYTES, f) : SIZE_MAX;
    if (f != NULL)
        fclose(f);
    return text;
}

static const char *parse_file(const char *path, bool all_channels, char error[256])
{
    char wrong[256];
    size_t len;
    char *text = read_file(path, &len);
    *error = 0;
    if (len == SIZE_MAX || len == SERVE__ACL_BYTES)
        snprintf(error, 256, "Error loading ACLs, opening file '%.100s': %s", path, strerror(errno));
    else if (serve__acl_parse(text, len, all_channels, wrong) != NULL)
        snprintf(error, 256, "%.100s:%.140s", path, wrong);
    free(text);
    return *error != 0 ? error : NULL;
}

const char *serve__acl_load(struct serve__worker *w, const char *path, char error[256])
{
    serve__acl_begin(w);
    const char *wrong = parse_file(path, w->config.n[SERVE__CFG_acl_pubsub_default] == 0, error);
    if (wrong == NULL) {
        w->shared->acl->loads++;
        serve__acl_write(w);
    }
    serve__acl_end(w);
    return wrong;
}

/* Any bytes, which the caller has limited; none: no password is needed. */
static void set_password(struct serve__user *u, caret_slice password)
{
    char word[SERVE__CONFIG_BYTES + 1] = ">";
    serve__user_apply(u, (caret_slice){"resetpass", 9}, false);
    if (password.len == 0) {
        serve__user_apply(u, (caret_slice){"nopass", 6}, false);
        return;
    }
    memcpy(word + 1, password.data, password.len);
    serve__user_apply(u, (caret_slice){word, password.len + 1}, false);
}

const char *serve__acl_start(struct serve__shared *s, caret_slice requirepass, const char *path,
                             char error[256])
{
    bool all_channels = strcmp(s->config[SERVE__CFG_acl_pubsub_default], "allchannels") == 0;
    const char *wrong = serve__acl_parse(s->acl->text[0], strlen(s->acl->text[0]), false, error);
    if (wrong == NULL && requirepass.len != 0)
        set_password(serve__user_find((caret_slice){"default", 7}), requirepass);
    if (wrong == NULL)
        wrong = serve__acl_put_lines(all_channels);
    if (wrong == NULL && *path != 0)
        wrong = parse_file(path, all_channels, error);
    if (wrong != NULL || !write_lines(s->acl->text[0]))
        return wrong != NULL ? wrong : "there are too many users";
    return NULL;
}

/* ----------------------------------------------------------------- checks */

struct look {
    const struct serve__selector *s;
    const caret_slice *argv;
    int denied;
};

static bool key_allowed(const struct serve__selector *s, caret_slice key, unsigned flags)
{
    if (s->all_keys)
        return true;
    for (size_t i = 0; i < s->keys.n; i++) {
        const struct serve__text *t = &s->keys.v[i];
        if ((t->flags & flags) == flags && serve__glob(t->data, t->len, key.data, key.len, false))
            return true;
    }
    return false;
}

static void look_at_key(void *arg, int i, unsigned flags)
{
    struct look *l = arg;
    unsigned need =
        (flags & SERVE__KEY_ACCESS ? SERVE__ACL_READ : 0u) |
        (flags & (SERVE__KEY_INSERT | SERVE__KEY_DELETE | SERVE__KEY_UPDATE) ? SERVE__ACL_WRITE : 0u);
    if (l->denied == 0 && !(flags & SERVE__KEY_NOT_KEY) && !key_allowed(l->s, l->argv[i], need))
        l->denied = i;
}

static bool channel_allowed(const struct serve__selector *s, caret_slice channel, bool is_pattern)
{
    for (size_t i = 0; !s->all_channels && i < s->channels.n; i++) {
        const struct serve__text *t = &s->channels.v[i];
        if (is_pattern ? t->len == channel.len && memcmp(t->data, channel.data, t->len) == 0
                       : serve__glob(t->data, t->len, channel.data, channel.len, false))
            return true;
    }
    return s->all_channels;
}

/* The first channel that is not allowed; 0: none. */
static int denied_channel(const struct serve__selector *s, const struct serve__command *c,
                          const caret_slice *argv, int argc)
{
    bool publish = c->run == serve__cmd_publish || c->run == serve__cmd_spublish;
    bool pattern = c->run == serve__cmd_psubscribe;
    if (!publish && !pattern && c->run != serve__cmd_subscribe && c->run != serve__cmd_ssubscribe)
        return 0;
    for (int i = 1; i < (publish ? 2 : argc); i++)
        if (!channel_allowed(s, argv[i], pattern))
            return i;
    return 0;
}

static bool command_allowed(const struct serve__selector *s, const struct serve__command *c,
                            const caret_slice *argv, int argc)
{
    if (serve__selector_has(s, c->id) || (c->flags & SERVE__NO_AUTH))
        return true;
    for (size_t i = 0; argc > 1 && i < s->first.n; i++)
        if (s->first.v[i].flags == c->id && serve__is(&argv[1], s->first.v[i].data))
            return true;
    return false;
}

static enum serve__denied check_selector(const struct serve__selector *s, const struct serve__command *c,
                                         const caret_slice *argv, int argc, int *which)
{
    struct look l = {s, argv, 0};
    if (!command_allowed(s, c, argv, argc))
        return SERVE__DENIED_COMMAND;
    if (!s->all_keys && c->nkeys > 0)
        serve__command_keys(c, argv, argc, look_at_key, &l);
    if (l.denied != 0) {
        *which = l.denied;
        return SERVE__DENIED_KEY;
    }
    int channel = denied_channel(s, c, argv, argc);
    if (channel == 0)
        return SERVE__ALLOWED;
    *which = channel;
    return SERVE__DENIED_CHANNEL;
}

/* One selector has to allow all of it; of those that don't, the one that comes furthest tells why. */
enum serve__denied serve__acl_check(const struct serve__user *u, const struct serve__command *cmd,
                                    const caret_slice *argv, int argc, int *which)
{
    enum serve__denied worst = SERVE__ALLOWED;
    *which = 0;
    for (const struct serve__selector *s = &u->root; s != NULL; s = s->next) {
        int at = 0;
        enum serve__denied one = check_selector(s, cmd, argv, argc, &at);
        if (one == SERVE__ALLOWED)
            return one;
        if (one > worst || (one == worst && at > *which)) {
            worst = one;
            *which = at;
        }
    }
    return worst;
}

static const struct serve__user *user_of(const struct serve__call *q)
{
    return q->c->user != NULL ? q->c->user : q->w->limits;
}

static bool reads_all(const struct serve__selector *s)
{
    bool all = s->all_keys;
    for (size_t i = 0; !all && i < s->keys.n; i++) {
        const struct serve__text *t = &s->keys.v[i];
        all = (t->flags & SERVE__ACL_READ) && t->len == 1 && t->data[0] == '*';
    }
    return all;
}

bool serve__acl_reads_all(const struct serve__call *q)
{
    const struct serve__user *u = user_of(q);
    int which;
    for (const struct serve__selector *s = u != NULL ? &u->root : NULL; s != NULL; s = s->next)
        if (reads_all(s) && check_selector(s, q->cmd, q->argv, q->argc, &which) == SERVE__ALLOWED)
            return true;
    return u == NULL;
}

/* The answer to a command of a client, or of a script. */
static void refuse(struct serve__call *q, enum serve__denied denied)
{
    static const char *const parts[] = {"", "", "key", "channel"};
    static const char *const scripts[] = {
        "", "run this command or subcommand",
        "access at least one of the keys mentioned in the command arguments",
        "publish to the channel mentioned in the command"};
    if (q->script != NULL)
        serve__reject(q, "ERR The user executing the script can't %s", scripts[denied]);
    else if (denied == SERVE__DENIED_COMMAND)
        serve__reject(q, "NOPERM this user has no permissions to run the '%s' command", q->cmd->full);
    else
        serve__reject(q, "NOPERM this user has no permissions to access one of the %ss used as arguments",
                      parts[denied]);
}

/* What the user of the call may not; it is noted. */
static enum serve__denied check_and_note(struct serve__call *q)
{
    static const char *const reasons[] = {"", "command", "key", "channel"};
    int which;
    const struct serve__user *u = user_of(q);
    enum serve__denied denied =
        u != NULL ? serve__acl_check(u, q->cmd, q->argv, q->argc, &which) : SERVE__ALLOWED;
    if (denied == SERVE__ALLOWED)
        return denied;
    caret_slice name = {q->cmd->full, strlen(q->cmd->full)};
    serve__acl_note(q, reasons[denied], denied == SERVE__DENIED_COMMAND ? name : q->argv[which],
                    (caret_slice){u->name, u->len});
    return denied;
}

bool serve__acl_refuses(struct serve__call *q)
{
    enum serve__denied denied = check_and_note(q);
    if (denied != SERVE__ALLOWED)
        refuse(q, denied);
    return denied != SERVE__ALLOWED;
}

bool serve__acl_refuses_queued(struct serve__call *q)
{
    static const char *const whats[] = {
        "", "no permission to execute the command or subcommand", "no permission to touch the specified keys",
        "no permission to access one of the channels used as arguments to the command"};
    enum serve__denied denied = check_and_note(q);
    if (denied != SERVE__ALLOWED)
        serve__fail(q,
                    "NOPERM ACLs rules changed between the moment the transaction was accumulated and the "
                    "EXEC call. This command is no longer allowed for the following reason: %s",
                    whats[denied]);
    return denied != SERVE__ALLOWED;
}

/* --------------------------------------------------------------- password */

/* Equal, without telling by its time how much of it. */
static bool has_password(const struct serve__user *u, caret_slice password)
{
    unsigned char sha[32];
    char hex[64];
    bool found = false;
    caret_codec__sha256_of(password.data, password.len, sha);
    caret_codec__hex(sha, sizeof sha, hex);
    for (size_t i = 0; i < u->passwords.n; i++) {
        unsigned differs = 0;
        for (size_t k = 0; k < sizeof hex; k++)
            differs |= (unsigned char)(hex[k] ^ u->passwords.v[i].data[k]);
        found |= differs == 0;
    }
    return found || u->nopass;
}

bool serve__acl_authenticate(struct serve__call *q, caret_slice name, caret_slice password)
{
    struct serve__user *u = serve__user_find(name);
    if (u == NULL || !u->on || !has_password(u, password)) {
        serve__acl_note(q, "auth", q->argv[0], name);
        return false;
    }
    q->c->user = strcmp(u->name, "default") == 0 ? NULL : u;
    q->c->flags |= SERVE__CONN_AUTHENTICATED;
    return true;
}

bool serve__auth_open(void)
{
    const struct serve__user *u = serve__user_find((caret_slice){"default", 7});
    return u == NULL || (u->nopass && u->on);
}

void serve__conn_gone_acl(struct serve__worker *w, struct serve__conn *c)
{
    (void)w;
    c->user = NULL;
}

void serve__acl_requirepass(struct serve__worker *w, caret_slice password)
{
    serve__acl_begin(w);
    set_password(serve__user_find((caret_slice){"default", 7}), password);
    serve__acl_write(w);
    serve__acl_end(w);
}
