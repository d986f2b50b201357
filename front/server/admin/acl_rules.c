/*
 * acl_rules.c - the rules of a user: modifiers of ACL SETUSER, and the text that says the same: acl.h.
 */
#include <stdlib.h>
#include <strings.h>

#include "server/admin/acl.h"
#include "server/call.h"
#include "server/codec/digest.h"

/* ------------------------------------------------------------------ texts */

static bool same(const struct serve__text *t, unsigned flags, caret_slice s)
{
    return t->flags == flags && t->len == s.len && memcmp(t->data, s.data, s.len) == 0;
}

static int find(const struct serve__texts *l, unsigned flags, caret_slice s)
{
    for (size_t i = 0; i < l->n; i++)
        if (same(&l->v[i], flags, s))
            return (int)i;
    return -1;
}

static void add(struct serve__texts *l, unsigned flags, caret_slice s)
{
    if (find(l, flags, s) >= 0)
        return;
    void *more = realloc(l->v, (l->n + 1) * sizeof *l->v);
    char *data = malloc(s.len + 1);
    if (more != NULL)
        l->v = more;
    if (more == NULL || data == NULL) {
        free(data);
        return;
    }
    memcpy(data, s.data, s.len);
    data[s.len] = 0;
    l->v[l->n++] = (struct serve__text){flags, s.len, data};
}

static void take_out(struct serve__texts *l, int i)
{
    free(l->v[i].data);
    l->n--;
    memmove(&l->v[i], &l->v[i + 1], (l->n - (size_t)i) * sizeof *l->v);
}

static void clear(struct serve__texts *l)
{
    while (l->n > 0)
        free(l->v[--l->n].data);
    free(l->v);
    l->v = NULL;
}

static bool is_space(char c)
{
    return (c >= 9 && c <= 13) || c == ' ';
}

static bool has_space(caret_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] == 0 || is_space(s.data[i]))
            return true;
    return false;
}

/* ------------------------------------------------------------------ users */

static void clear_selector(struct serve__selector *s)
{
    clear(&s->keys);
    clear(&s->channels);
    clear(&s->first);
}

static void clear_selectors(struct serve__user *u)
{
    while (u->root.next != NULL) {
        struct serve__selector *s = u->root.next;
        u->root.next = s->next;
        clear_selector(s);
        free(s);
    }
}

struct serve__user *serve__user_new(caret_slice name, bool all_channels)
{
    struct serve__user *u = calloc(1, sizeof *u + name.len + 1);
    if (u == NULL)
        return NULL;
    u->root.all_channels = all_channels;
    u->len = name.len;
    memcpy(u->name, name.data, name.len);
    return u;
}

void serve__user_free(struct serve__user *u)
{
    if (u == NULL)
        return;
    clear_selectors(u);
    clear_selector(&u->root);
    clear(&u->passwords);
    free(u);
}

/* --------------------------------------------------------------- commands */

static const char syntax[] = "Syntax error", unknown[] = "Unknown command or category name in ACL";

static void set_bit(struct serve__selector *s, unsigned id, bool on)
{
    uint64_t bit = (uint64_t)1 << (id % 64);
    s->commands[id / 64] = on ? s->commands[id / 64] | bit : s->commands[id / 64] & ~bit;
}

/* The first arguments of a command are no longer of interest: it is allowed or not as a whole. */
static void forget_first(struct serve__selector *s, unsigned id)
{
    for (int i = (int)s->first.n - 1; i >= 0; i--)
        if (s->first.v[i].flags == id)
            take_out(&s->first, i);
}

static void set_command(struct serve__selector *s, const struct serve__command *c, bool on)
{
    set_bit(s, c->id, on);
    forget_first(s, c->id);
    for (unsigned i = 0; i < c->nsub; i++)
        set_command(s, &c->sub[i], on);
}

static void set_all(struct serve__selector *s, bool on)
{
    memset(s->commands, on ? 0xff : 0, sizeof s->commands);
    s->future = on;
    clear(&s->first);
}

static int category_of(caret_slice name)
{
    for (int i = 0; serve__category_names[i] != NULL; i++)
        if (serve__is(&name, serve__category_names[i]))
            return i;
    return -1;
}

static void set_category(struct serve__selector *s, int category, bool on)
{
    for (unsigned i = 0; i < serve__ncommands; i++)
        if (serve__commands[i].categories >> category & 1) {
            set_bit(s, i, on);
            forget_first(s, i);
        }
}

/* In lower case. */
static void add_first(struct serve__selector *s, const struct serve__command *c, caret_slice word)
{
    char *lower = malloc(word.len);
    for (size_t i = 0; lower != NULL && i < word.len; i++)
        lower[i] = word.data[i] >= 'A' && word.data[i] <= 'Z' ? (char)(word.data[i] + 32) : word.data[i];
    if (lower != NULL)
        add(&s->first, c->id, (caret_slice){lower, word.len});
    free(lower);
}

static const char *remove_subcommand(struct serve__selector *s, const struct serve__command *c,
                                     caret_slice name)
{
    const struct serve__command *sub = c->nsub > 0 ? serve__subcommand_find(c, name.data, name.len) : NULL;
    if (sub == NULL)
        return unknown;
    set_command(s, sub, false);
    return NULL;
}

/* "get", "config|get", "select|0". */
static const char *command_rule(struct serve__selector *s, caret_slice name, bool on)
{
    const char *bar = memchr(name.data, '|', name.len);
    size_t len = bar != NULL ? (size_t)(bar - name.data) : name.len;
    const struct serve__command *c = serve__command_named(name.data, len);
    if (c == NULL)
        return unknown;
    if (bar == NULL) {
        set_command(s, c, on);
        return NULL;
    }
    caret_slice rest = {bar + 1, name.len - len - 1};
    if (!on)
        return remove_subcommand(s, c, rest);
    if (rest.len == 0)
        return syntax;
    if (c->nsub > 0) {
        const char *more = memchr(rest.data, '|', rest.len);
        const struct serve__command *sub =
            serve__subcommand_find(c, rest.data, more != NULL ? (size_t)(more - rest.data) : rest.len);
        if (sub != NULL && more != NULL)
            return "Allowing first-arg of a subcommand is not supported";
        if (sub == NULL)
            return unknown;
        set_command(s, sub, true);
        return NULL;
    }
    if (memchr(rest.data, '|', rest.len) != NULL)
        return unknown;
    if (has_space(rest)) /* no line could say it */
        return syntax;
    if (!serve__selector_has(s, c->id))
        add_first(s, c, rest);
    return NULL;
}

static const char *category_rule(struct serve__selector *s, caret_slice name, bool on)
{
    name.len = strnlen(name.data, name.len);
    if (serve__is(&name, "all")) {
        set_all(s, on);
        return NULL;
    }
    int category = category_of(name);
    if (category < 0)
        return unknown;
    set_category(s, category, on);
    return NULL;
}

/* -------------------------------------------------------------- selectors */

static caret_slice rest_of(caret_slice s, size_t from)
{
    return (caret_slice){s.data + from, s.len - from};
}

static const char *key_rule(struct serve__selector *s, caret_slice word)
{
    unsigned flags = 0;
    size_t at = 1;
    if (s->all_keys)
        return "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have "
               "any "
               "effect. Try 'resetkeys' to start with an empty list of patterns";
    if (*word.data == '~') {
        flags = SERVE__ACL_READ | SERVE__ACL_WRITE;
    } else {
        for (; at < word.len && word.data[at] != '~'; at++) {
            unsigned one = (word.data[at] | 32) == 'r'   ? SERVE__ACL_READ
                           : (word.data[at] | 32) == 'w' ? SERVE__ACL_WRITE
                                                         : 0;
            if (one == 0 || (flags & one))
                return syntax;
            flags |= one;
        }
        if (flags == 0)
            return syntax;
        at += at < word.len; /* without "~" it is the empty pattern, as in Redis */
    }
    if (has_space(word))
        return syntax;
    for (unsigned f = 1; f <= 3; f++) { /* one entry a pattern */
        int i = find(&s->keys, f, rest_of(word, at));
        if (i >= 0) {
            s->keys.v[i].flags |= flags;
            return NULL;
        }
    }
    add(&s->keys, flags, rest_of(word, at));
    return NULL;
}

static const char *channel_rule(struct serve__selector *s, caret_slice word)
{
    if (s->all_channels)
        return "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not "
               "have any "
               "effect. Try 'resetchannels' to start with an empty list of channels";
    if (has_space(word))
        return syntax;
    add(&s->channels, 0, rest_of(word, 1));
    return NULL;
}

static bool is_exactly(caret_slice s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.data, text, s.len) == 0;
}

static const char *selector_apply(struct serve__selector *s, caret_slice word)
{
    bool star = word.len == 2 && word.data[1] == '*';
    if (serve__is(&word, "allkeys") || (star && *word.data == '~') || serve__is(&word, "resetkeys")) {
        s->all_keys = !serve__is(&word, "resetkeys");
        clear(&s->keys);
    } else if (serve__is(&word, "allchannels") || (star && *word.data == '&') ||
               serve__is(&word, "resetchannels")) {
        s->all_channels = !serve__is(&word, "resetchannels");
        clear(&s->channels);
    } else if (serve__is(&word, "allcommands") || serve__is(&word, "nocommands")) {
        set_all(s, serve__is(&word, "allcommands"));
    } else if (word.len > 0 && (*word.data == '~' || *word.data == '%')) {
        return key_rule(s, word);
    } else if (word.len > 0 && *word.data == '&') {
        return channel_rule(s, word);
    } else if (word.len > 0 && (*word.data == '+' || *word.data == '-')) {
        bool on = *word.data == '+';
        return word.len > 1 && word.data[1] == '@' ? category_rule(s, rest_of(word, 2), on)
                                                   : command_rule(s, rest_of(word, 1), on);
    } else {
        return syntax;
    }
    return NULL;
}

/* "(+get ~a)". */
static const char *add_selector(struct serve__user *u, caret_slice word, bool all_channels)
{
    struct serve__selector *s = calloc(1, sizeof *s), **last = &u->root.next;
    const char *wrong = s == NULL ? syntax : NULL;
    size_t at = 1, end = word.len - 1;
    if (s != NULL)
        s->all_channels = all_channels;
    while (wrong == NULL && at < end) {
        size_t from = at;
        while (at < end && !is_space(word.data[at]))
            at++;
        if (at > from)
            wrong = selector_apply(s, (caret_slice){word.data + from, at - from});
        at++;
    }
    if (wrong != NULL) {
        if (s != NULL)
            clear_selector(s);
        free(s);
        return wrong;
    }
    while (*last != NULL)
        last = &(*last)->next;
    *last = s;
    return NULL;
}

/* -------------------------------------------------------------- passwords */

static bool is_hash(caret_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!((s.data[i] >= '0' && s.data[i] <= '9') || (s.data[i] >= 'a' && s.data[i] <= 'f')))
            return false;
    return s.len == 64;
}

static const char *password_rule(struct serve__user *u, caret_slice word)
{
    char hex[64];
    unsigned char sha[32];
    char kind = *word.data;
    caret_slice hash = rest_of(word, 1);
    if (kind == '>' || kind == '<') {
        caret_codec__sha256_of(hash.data, hash.len, sha);
        caret_codec__hex(sha, sizeof sha, hex);
        hash = (caret_slice){hex, sizeof hex};
    } else if (!is_hash(hash)) {
        return "The password hash must be exactly 64 characters and contain only lowercase hexadecimal "
               "characters";
    }
    if (kind == '>' || kind == '#') {
        add(&u->passwords, 0, hash);
        u->nopass = false;
        return NULL;
    }
    int i = find(&u->passwords, 0, hash);
    if (i < 0)
        return "The password you are trying to remove from the user does not exist";
    take_out(&u->passwords, i);
    return NULL;
}

static void reset_user(struct serve__user *u, bool all_channels)
{
    clear(&u->passwords);
    clear_selectors(u);
    clear_selector(&u->root);
    u->root = (struct serve__selector){.all_channels = all_channels};
    u->on = u->nopass = false;
    u->sanitize = "sanitize-payload";
}

const char *serve__user_apply(struct serve__user *u, caret_slice word, bool all_channels)
{
    if (serve__is(&word, "on") || serve__is(&word, "off")) {
        u->on = serve__is(&word, "on");
    } else if (serve__is(&word, "nopass") || serve__is(&word, "resetpass")) {
        u->nopass = serve__is(&word, "nopass");
        clear(&u->passwords);
    } else if (serve__is(&word, "skip-sanitize-payload") || serve__is(&word, "sanitize-payload")) {
        u->sanitize = serve__is(&word, "sanitize-payload") ? "sanitize-payload" : "skip-sanitize-payload";
    } else if (serve__is(&word, "reset")) {
        reset_user(u, all_channels);
    } else if (serve__is(&word, "clearselectors")) {
        clear_selectors(u);
    } else if (word.len > 0 && memchr("><#!", *word.data, 4) != NULL) {
        return password_rule(u, word);
    } else if (word.len > 1 && *word.data == '(' && word.data[word.len - 1] == ')') {
        return add_selector(u, word, all_channels);
    } else if (!is_exactly(word, "")) {
        return selector_apply(&u->root, word);
    }
    return NULL;
}

/* -------------------------------------------------------------- as a text */

/* Does the text end with the bracket that begins a selector?  A pattern may end with one too. */
static bool at_selector(const struct serve__buffer *b)
{
    return b->data[b->len - 1] == '(' && (b->len == 1 || b->data[b->len - 2] == ' ');
}

static void add_word(struct serve__buffer *b, const char *text)
{
    if (b->len > 0 && b->data[b->len - 1] != ' ' && !at_selector(b))
        serve__buffer_add(b, " ", 1);
    serve__buffer_add(b, text, strlen(text));
}

/* Exact: "~*" is all keys, after which there can be no pattern; "%RW~*" is one of many. */
static void add_keys(const struct serve__selector *s, struct serve__buffer *b, bool exact)
{
    static const char *const heads[] = {"", "%R~", "%W~", "~"};
    if (s->all_keys)
        add_word(b, "~*");
    for (size_t i = 0; i < s->keys.n; i++) {
        const struct serve__text *t = &s->keys.v[i];
        bool star = exact && t->flags == 3 && t->len == 1 && *t->data == '*';
        add_word(b, star ? "%RW~" : heads[t->flags]);
        serve__buffer_add(b, t->data, t->len);
    }
}

void serve__selector_keys(const struct serve__selector *s, struct serve__buffer *b)
{
    add_keys(s, b, false);
}

void serve__selector_channels(const struct serve__selector *s, struct serve__buffer *b)
{
    if (s->all_channels)
        add_word(b, "&*");
    for (size_t i = 0; i < s->channels.n; i++) {
        add_word(b, "&");
        serve__buffer_add(b, s->channels.v[i].data, s->channels.v[i].len);
    }
}

/* Is it one that Redis 7.0 has not, in categories of its commands?  It does not count there. */
static bool is_foreign(const struct serve__command *c)
{
    return c->run == serve__cmd_client_setinfo || c->run == serve__cmd_client_no_touch ||
           c->run == serve__cmd_caret_m;
}

/* The commands of a category that are allowed, and those that are not.  Those of nodes count in their own alone, so
 * that of Redis' commands the same is said as by Redis. */
static void count(const struct serve__selector *s, int category, unsigned *on, unsigned *off)
{
    const uint64_t ours = (uint64_t)1 << SERVE__CATEGORY_NODES;
    *on = *off = 0;
    for (unsigned i = 0; i < serve__ncommands; i++)
        if ((serve__commands[i].categories & ours ? ours : serve__commands[i].categories) >> category & 1 &&
            !is_foreign(&serve__commands[i]))
            ++*(serve__selector_has(s, i) ? on : off);
}

/* The category that says most: more of it fits than not, and as little as can be does not. */
static int best_category(const struct serve__selector *left, bool additive, uint64_t used)
{
    int best = -1;
    unsigned least = ~0u, most = 0;
    for (int i = 0; serve__category_names[i] != NULL; i++) {
        unsigned on, off;
        count(left, i, &on, &off);
        unsigned fits = additive ? on : off, differs = additive ? off : on;
        if ((used >> i & 1) || fits <= differs || differs > least || (differs == least && fits <= most))
            continue;
        best = i;
        least = differs;
        most = fits;
    }
    return best;
}

/* What the categories don't say right. */
static void add_commands(const struct serve__selector *s, struct serve__selector *said,
                         const struct serve__command *c, unsigned n, struct serve__buffer *b)
{
    for (unsigned i = 0; i < n; i++, c++) {
        bool on = serve__selector_has(s, c->id);
        if (on != serve__selector_has(said, c->id)) {
            add_word(b, on ? "+" : "-");
            serve__buffer_add(b, c->full, strlen(c->full));
            set_command(said, c, on);
        }
        if (c->nsub > 0)
            add_commands(s, said, c->sub, c->nsub, b);
        for (size_t k = 0; !on && k < s->first.n; k++)
            if (s->first.v[k].flags == c->id) {
                add_word(b, "+");
                serve__buffer_print(b, "%s|%s", c->full, s->first.v[k].data);
            }
    }
}

/* Categories as far as they fit, then single commands: it says the same as the bits. */
void serve__selector_commands(const struct serve__selector *s, struct serve__buffer *b)
{
    struct serve__selector said = {0}, left = {0};
    bool additive = !s->future;
    uint64_t used = 0;
    memcpy(left.commands, s->commands, sizeof left.commands);
    set_all(&said, !additive);
    add_word(b, additive ? "-@all" : "+@all");
    for (int best; (best = best_category(&left, additive, used)) >= 0; used |= (uint64_t)1 << best) {
        add_word(b, additive ? "+@" : "-@");
        serve__buffer_print(b, "%s", serve__category_names[best]);
        set_category(&said, best, additive);
        set_category(&left, best, !additive);
    }
    add_commands(s, &said, serve__commands, serve__nmain, b);
}

static void add_selector_text(const struct serve__selector *s, struct serve__buffer *b, bool exact)
{
    add_keys(s, b, exact);
    if (!s->all_channels)
        add_word(b, "resetchannels");
    serve__selector_channels(s, b);
    serve__selector_commands(s, b);
}

void serve__user_text(const struct serve__user *u, struct serve__buffer *b, bool exact)
{
    serve__buffer_print(b, "user %s %s", u->name, u->on ? "on" : "off");
    if (u->nopass)
        add_word(b, "nopass");
    if (u->sanitize != NULL)
        add_word(b, u->sanitize);
    for (size_t i = 0; i < u->passwords.n; i++) {
        add_word(b, "#");
        serve__buffer_add(b, u->passwords.v[i].data, u->passwords.v[i].len);
    }
    add_selector_text(&u->root, b, exact);
    for (const struct serve__selector *s = u->root.next; s != NULL; s = s->next) {
        add_word(b, "(");
        add_selector_text(s, b, exact);
        serve__buffer_add(b, &"\f)"[!exact], 1u + exact);
    }
}
