/*
 * acl.h - users, and what each may do.
 *
 * The users are texts in shared memory, the exact form of the lines of ACL LIST, so they are the same for all
 * workers and outlive each of them.  Two halves: a worker that has the lock of shared.h writes all lines to
 * the half that is not in use, then makes it the one that is by counting `version` up; so a killed writer
 * changes nothing.  Each worker reads the lines anew when `version` has moved, once a turn: a change counts
 * for commands that come after its answer.
 *   A user that is gone takes its connections along; subscriptions to channels that it may no longer listen
 * to end the connection.
 *
 * c->user is NULL for the default user.  Nothing is checked while that may do everything: w->limits is NULL.
 */
#ifndef CARET_SERVER_ACL_H
#define CARET_SERVER_ACL_H

#include "server/conn.h"
#include "server/shared.h"

enum { SERVE__ACL_BYTES = 1 << 20, SERVE__ACL_ENTRIES = 256 };

struct serve__acl_entry { /* of ACL LOG */
    uint64_t count;
    int64_t time; /* milliseconds since 1970 */
    char reason[16], context[16], client[512];
    char object[4096], user[4096]; /* any bytes, as many as fit */
    uint16_t object_len, user_len;
    uint64_t object_hash, user_hash; /* of all of it, and of its length */
};

struct serve__acl {
    serve__counter version; /* its lowest bit is the half that counts */
    serve__counter loads;   /* of ACL LOAD: connections of named users end */
    char text[2][SERVE__ACL_BYTES];
    uint64_t nentries; /* ever */
    struct serve__acl_entry entry[SERVE__ACL_ENTRIES];
};

/* A list of texts that grows. */
struct serve__texts {
    struct serve__text {
        unsigned flags; /* of keys: SERVE__ACL_READ and WRITE; of first arguments: the command */
        size_t len;
        char *data;
    } * v;
    size_t n;
};
enum { SERVE__ACL_READ = 1, SERVE__ACL_WRITE = 2 };

struct serve__selector {
    struct serve__selector *next;
    bool all_keys, all_channels, future; /* future: commands that are not there yet */
    uint64_t commands[SERVE__COMMANDS_MAX / 64];
    struct serve__texts keys, channels, first; /* first: a first argument that is allowed */
};

struct serve__user {
    struct serve__user *next;
    bool on, nopass;
    const char *sanitize; /* the modifier that said so last, or NULL: kept and told, of no other use here */
    struct serve__texts passwords; /* 64 digits each */
    struct serve__selector root;   /* the others are root.next ... */
    size_t len;
    char name[];
};

/* acl_rules.c: users as values.  NULL: no memory. */
struct serve__user *serve__user_new(caret_slice name, bool all_channels);
void serve__user_free(struct serve__user *u);
/* Apply a modifier of ACL SETUSER: NULL, or what is wrong. */
const char *serve__user_apply(struct serve__user *u, caret_slice word, bool all_channels);
/* "user NAME ..."; and its parts.  Exact: a form feed, which no pattern has, ends each selector, and what is
 * read again is the same user; else it is what ACL LIST says, of which this is not always true. */
void serve__user_text(const struct serve__user *u, struct serve__buffer *b, bool exact);
void serve__selector_keys(const struct serve__selector *s, struct serve__buffer *b);
void serve__selector_channels(const struct serve__selector *s, struct serve__buffer *b);
void serve__selector_commands(const struct serve__selector *s, struct serve__buffer *b);
static inline bool serve__selector_has(const struct serve__selector *s, unsigned id)
{
    return s->commands[id / 64] >> (id % 64) & 1;
}

/* acl.c: the users there are. */
bool serve__acl_make(struct serve__shared *s);
/* In the supervisor: the default user, and those of a file ("": none).  NULL, or what is wrong. */
const char *serve__acl_start(struct serve__shared *s, caret_slice requirepass, const char *path,
                             char error[256]);
/* acl_config.c: a line `user NAME RULE...` of redis.conf, for serve__acl_start().  NULL, or what is wrong. */
const char *serve__acl_add_line(const caret_slice *argv, int argc);
bool serve__acl_has_lines(void);
const char *serve__acl_put_lines(bool all_channels);
/* Read a file in a worker. */
const char *serve__acl_load(struct serve__worker *w, const char *path, char error[256]);
void serve__acl_refresh(struct serve__worker *w);
struct serve__user *serve__users(void); /* the first of them */
struct serve__user *serve__user_find(caret_slice name);
struct serve__user *serve__user_of(const struct serve__conn *c);

/* Change users: lock, have the newest; then change the list, and write it, or don't. */
void serve__acl_begin(struct serve__worker *w);
void serve__acl_put(struct serve__user *u);     /* it replaces one of its name */
bool serve__acl_delete(caret_slice name);       /* false: there was none */
bool serve__acl_write(struct serve__worker *w); /* false: no room, nothing is changed */
void serve__acl_end(struct serve__worker *w);

/* Text of lines as of ACL LIST becomes the list: NULL, or what is wrong.  Between begin and write.  all_channels: what
 * a line allows that says nothing of channels. */
const char *serve__acl_parse(const char *text, size_t len, bool all_channels, char error[256]);

/* The next word of such a line, a selector in parentheses as one; false: it ends. */
bool serve__acl_word(const char **at, const char *end, caret_slice *word);
/* All users as such lines. */
void serve__users_text(struct serve__buffer *b, bool exact);

/* What a user may not do with a command. */
enum serve__denied { SERVE__ALLOWED, SERVE__DENIED_COMMAND, SERVE__DENIED_KEY, SERVE__DENIED_CHANNEL };
enum serve__denied serve__acl_check(const struct serve__user *u, const struct serve__command *cmd,
                                    const caret_slice *argv, int argc, int *which);

/* acl_log.c */
void serve__acl_note(struct serve__call *q, const char *reason, caret_slice object, caret_slice user);

/* AUTH and HELLO: false if user and password don't fit. */
bool serve__acl_authenticate(struct serve__call *q, caret_slice user, caret_slice password);

/* Need nobody a password? */
bool serve__auth_open(void);

/* CONFIG SET requirepass: any bytes, fewer than SERVE__CONFIG_BYTES. */
void serve__acl_requirepass(struct serve__worker *w, caret_slice password);

#endif
