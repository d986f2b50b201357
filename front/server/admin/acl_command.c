/*
 * acl_command.c - ACL: acl.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "server/admin/acl.h"
#include "server/codec/digest.h"
#include "server/config_file.h"
#include "server/meet/ending.h"
#include "server/worker.h"

static bool channels_by_default(const struct serve__call *q)
{
    return q->w->config.n[SERVE__CFG_acl_pubsub_default] == 0;
}

static int most(caret_slice s)
{
    return (int)(s.len < 300 ? s.len : 300);
}

int serve__cmd_acl_whoami(struct serve__call *q)
{
    return serve__text(q, serve__user_name(q->c));
}

int serve__cmd_acl_users(struct serve__call *q)
{
    size_t place = serve__open(q), n = 0;
    for (const struct serve__user *u = serve__users(); u != NULL; u = u->next, n++)
        serve__bulk(q, u->name, u->len);
    return serve__close_array(q, place, n);
}

int serve__cmd_acl_list(struct serve__call *q)
{
    struct serve__buffer *b = &q->r->work;
    size_t place = serve__open(q), n = 0;
    for (const struct serve__user *u = serve__users(); u != NULL; u = u->next, n++) {
        b->len = 0;
        serve__user_text(u, b, false);
        serve__bulk(q, b->data, b->len);
    }
    return serve__close_array(q, place, n);
}

int serve__cmd_acl_cat(struct serve__call *q)
{
    size_t place = serve__open(q), n = 0;
    if (q->argc > 3)
        return serve__wrong_subcommand(q);
    int category = -1;
    for (int i = 0; serve__category_names[i] != NULL; i++)
        if (q->argc == 2)
            serve__text(q, serve__category_names[n++]);
        else if (serve__is(&q->argv[2], serve__category_names[i]))
            category = i;
    if (q->argc == 2)
        return serve__close_array(q, place, n);
    if (category < 0)
        return serve__fail(q, "ERR Unknown category '%.*s'", most(q->argv[2]) < 128 ? most(q->argv[2]) : 128,
                           q->argv[2].data);
    for (unsigned i = 0; i < serve__ncommands; i++)
        if (serve__commands[i].categories >> category & 1) {
            serve__text(q, serve__commands[i].full);
            n++;
        }
    return serve__close_array(q, place, n);
}

/* ---------------------------------------------------------------- getuser */

typedef void text_of(const struct serve__selector *s, struct serve__buffer *b);

static void answer_part(struct serve__call *q, const char *name, text_of *part,
                        const struct serve__selector *s)
{
    struct serve__buffer *b = &q->r->work;
    b->len = 0;
    part(s, b);
    serve__text(q, name);
    serve__bulk(q, b->data, b->len);
}

static void answer_selector(struct serve__call *q, const struct serve__selector *s)
{
    answer_part(q, "commands", serve__selector_commands, s);
    answer_part(q, "keys", serve__selector_keys, s);
    answer_part(q, "channels", serve__selector_channels, s);
}

static void answer_flags(struct serve__call *q, const struct serve__user *u)
{
    serve__text(q, "flags");
    serve__set(q, 1u + u->nopass + (u->sanitize != NULL));
    serve__text(q, u->on ? "on" : "off");
    if (u->nopass)
        serve__text(q, "nopass");
    if (u->sanitize != NULL)
        serve__text(q, u->sanitize);
}

int serve__cmd_acl_getuser(struct serve__call *q)
{
    const struct serve__user *u = serve__user_find(q->argv[2]);
    if (u == NULL)
        return serve__null(q);
    serve__map(q, 6);
    answer_flags(q, u);
    serve__text(q, "passwords");
    serve__array(q, u->passwords.n);
    for (size_t i = 0; i < u->passwords.n; i++)
        serve__bulk(q, u->passwords.v[i].data, u->passwords.v[i].len);
    answer_selector(q, &u->root);
    serve__text(q, "selectors");
    size_t place = serve__open(q), n = 0;
    for (const struct serve__selector *s = u->root.next; s != NULL; s = s->next, n++) {
        serve__map(q, 3);
        answer_selector(q, s);
    }
    return serve__close_array(q, place, n);
}

/* ---------------------------------------------------------------- setuser */

static bool opens(caret_slice s)
{
    return s.len > 0 && *s.data == '(' && s.data[s.len - 1] != ')';
}

static bool closes(caret_slice s)
{
    return s.len > 0 && s.data[s.len - 1] == ')';
}

/* The argument that ends the selector which argument i opens, in place of which *first opens another before
 * that: 0: none. */
static int closing(const struct serve__call *q, int i, int *first)
{
    for (; i < q->argc; i++)
        if (opens(q->argv[i]))
            *first = i;
        else if (closes(q->argv[i]))
            return i;
    return 0;
}

/* The modifier from argument *i on, which becomes the last one of it. */
static caret_slice modifier(struct serve__call *q, int *i)
{
    struct serve__buffer *b = &q->r->work;
    int first = *i;
    if (!opens(q->argv[first]))
        return q->argv[first];
    *i = closing(q, first, &first);
    b->len = 0;
    for (int k = first; k <= *i; k++) {
        serve__buffer_add(b, " ", k > first);
        serve__buffer_add(b, q->argv[k].data, q->argv[k].len);
    }
    return (caret_slice){b->data, b->len};
}

/* Has each selector an end? */
static int check_parentheses(struct serve__call *q)
{
    for (int i = 3, first; i < q->argc; i++) {
        if (!opens(q->argv[i]))
            continue;
        i = closing(q, first = i, &first);
        if (i == 0)
            return serve__fail(q, "ERR Unmatched parenthesis in acl selector starting at '%.*s'.",
                               most(q->argv[first]), q->argv[first].data);
    }
    return CARET_OK;
}

/* A copy of the user, with all modifiers; NULL: answered. */
static struct serve__user *changed(struct serve__call *q)
{
    const struct serve__user *old = serve__user_find(q->argv[2]);
    struct serve__user *u = serve__user_new(q->argv[2], channels_by_default(q) && old == NULL);
    struct serve__buffer text = {0};
    int rc = u == NULL ? CARET_E_NOMEM : check_parentheses(q);
    if (old != NULL && u != NULL) { /* its words, again */
        serve__user_text(old, &text, true);
        const char *at = text.data + 5 + old->len, *end = text.data + text.len;
        caret_slice word;
        while (serve__acl_word(&at, end, &word))
            serve__user_apply(u, word, false);
        serve__buffer_free(&text);
    }
    for (int i = 3; rc == CARET_OK && i < q->argc; i++) {
        caret_slice word = modifier(q, &i);
        const char *wrong = serve__user_apply(u, word, channels_by_default(q));
        if (wrong != NULL)
            rc = serve__fail(q, "ERR Error in ACL SETUSER modifier '%.*s': %s", most(word), word.data, wrong);
    }
    if (rc == CARET_OK)
        return u;
    serve__user_free(u);
    return NULL;
}

int serve__cmd_acl_setuser(struct serve__call *q)
{
    for (size_t i = 0; i < q->argv[2].len; i++)
        if (strchr(" \t\n\v\f\r", q->argv[2].data[i]) != NULL) /* or 0, which ends that */
            return serve__fail(q, "ERR Usernames can't contain spaces or null characters");
    serve__acl_begin(q->w);
    struct serve__user *u = changed(q);
    bool fits = true;
    if (u != NULL) {
        serve__acl_put(u);
        fits = serve__acl_write(q->w);
    }
    serve__acl_end(q->w);
    if (u == NULL)
        return SERVE__FAILED;
    serve__ending_wait_users(q->w, q->c);
    return fits ? serve__ok(q) : serve__fail(q, "ERR There is no room for more users");
}

int serve__cmd_acl_deluser(struct serve__call *q)
{
    int64_t n = 0;
    for (int i = 2; i < q->argc; i++)
        if (q->argv[i].len == 7 && memcmp(q->argv[i].data, "default", 7) == 0)
            return serve__fail(q, "ERR The 'default' user cannot be removed");
    serve__acl_begin(q->w);
    for (int i = 2; i < q->argc; i++)
        n += serve__acl_delete(q->argv[i]);
    if (n > 0)
        serve__acl_write(q->w);
    serve__acl_end(q->w);
    if (n > 0)
        serve__ending_wait_users(q->w, q->c);
    return serve__integer(q, n);
}

/* ------------------------------------------------------------------- file */

static int no_file(struct serve__call *q)
{
    return serve__fail(
        q, "ERR This Redis instance is not configured to use an ACL file. You may want to specify users "
           "via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis "
           "configuration file set) in order to store users in the Redis configuration.");
}

int serve__cmd_acl_load(struct serve__call *q)
{
    char error[256] = "";
    const char *path = q->w->config.text[SERVE__CFG_aclfile];
    if (*path == 0)
        return no_file(q);
    if (serve__acl_load(q->w, path, error) == NULL) {
        serve__ending_wait_users(q->w, q->c);
        return serve__ok(q);
    }
    return serve__fail(
        q, "ERR %s WARNING: ACL errors detected, no change to the previously active ACL rules was performed",
        error);
}

/* Whole, or not at all: another file takes its place. */
int serve__cmd_acl_save(struct serve__call *q)
{
    char temp[1100];
    struct serve__buffer *b = &q->r->work;
    const char *path = q->w->config.text[SERVE__CFG_aclfile];
    if (*path == 0)
        return no_file(q);
    b->len = 0;
    serve__users_text(b, false);
    snprintf(temp, sizeof temp, "%s.tmp-%d", path, (int)getpid());
    int fd = serve__may_replace(path) ? open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    bool fine = fd >= 0 && write(fd, b->data, b->len) == (ssize_t)b->len && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    if (fine && rename(temp, path) == 0)
        return serve__ok(q);
    if (fd >= 0)
        unlink(temp);
    return serve__fail(
        q, "ERR There was an error trying to save the ACLs. Please check the server logs for more "
           "information");
}

/* ----------------------------------------------------------------- others */

int serve__cmd_acl_genpass(struct serve__call *q)
{
    unsigned char bytes[512];
    char hex[1024];
    int64_t bits = 256;
    if (q->argc > 3)
        return serve__wrong_subcommand(q);
    int rc = q->argc == 3 ? serve__arg_integer(q, 2, &bits) : CARET_OK;
    if (rc != CARET_OK)
        return rc;
    if (bits <= 0 || bits > 4096)
        return serve__fail(
            q, "ERR ACL GENPASS argument must be the number of bits for the output password, a positive "
               "number up to 4096");
    size_t digits = ((size_t)bits + 3) / 4;
    if (getrandom(bytes, (digits + 1) / 2, 0) < 0)
        return serve__fail(q, "ERR no random bytes: %s", strerror(errno));
    caret_codec__hex(bytes, (digits + 1) / 2, hex);
    return serve__bulk(q, hex, digits);
}

int serve__cmd_acl_dryrun(struct serve__call *q)
{
    const struct serve__command *parent, *c = serve__command_of(q->argv + 3, q->argc - 3, &parent);
    const struct serve__user *u = serve__user_find(q->argv[2]);
    int argc = q->argc - 3, which;
    char text[400];
    if (u == NULL)
        return serve__fail(q, "ERR User '%.*s' not found", most(q->argv[2]), q->argv[2].data);
    if (c == NULL)
        return serve__fail(q, "ERR Command '%.*s' not found", most(q->argv[3]), q->argv[3].data);
    if (c->arity > 0 ? c->arity != argc : argc < -c->arity)
        return serve__fail(q, "ERR wrong number of arguments for '%s' command", c->full);
    switch (serve__acl_check(u, c, q->argv + 3, argc, &which)) {
    case SERVE__ALLOWED: return serve__ok(q);
    case SERVE__DENIED_COMMAND:
        snprintf(text, sizeof text, "This user has no permissions to run the '%s' command", c->full);
        return serve__text(q, text);
    case SERVE__DENIED_KEY:
    case SERVE__DENIED_CHANNEL: break;
    }
    bool key = c->nkeys > 0 && !(c->keys[0].flags & SERVE__KEY_NOT_KEY);
    snprintf(text, sizeof text, "This user has no permissions to access the '%.*s' %s",
             most(q->argv[which + 3]), q->argv[which + 3].data, key ? "key" : "channel");
    return serve__text(q, text);
}

int serve__cmd_acl_help(struct serve__call *q)
{
    static const char *const lines[] = {"ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                                        "CAT [<category>]",
                                        "    Return the commands of a <category>, or all categories.",
                                        "DELUSER <username> [<username> ...]",
                                        "    Delete users.",
                                        "DRYRUN <username> <command> [<arg> ...]",
                                        "    Return whether the user may run the command, which is not run.",
                                        "GETUSER <username>",
                                        "    Return what a user may do.",
                                        "GENPASS [<bits>]",
                                        "    Return a random password of 256 bits, or of so many.",
                                        "LIST",
                                        "    Return the users as lines of a configuration file.",
                                        "LOAD",
                                        "    Read the users from the ACL file.",
                                        "LOG [<count> | RESET]",
                                        "    Return what users were refused.",
                                        "SAVE",
                                        "    Write the users to the ACL file.",
                                        "SETUSER <username> <attribute> [<attribute> ...]",
                                        "    Make a user, or change one.",
                                        "USERS",
                                        "    Return the names of all users.",
                                        "WHOAMI",
                                        "    Return the user of this connection.",
                                        "HELP",
                                        "    Prints this help.",
                                        NULL};
    return serve__help(q, lines);
}
