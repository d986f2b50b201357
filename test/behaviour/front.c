/*
 * front.c - what fronts in C share: they are told lines and answer.  See front.h.
 */
#include "front.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct front *front;
static unsigned depth;
static bool at_end; /* of the input */

/* -------------------------------------------------------------------- saying */

static char *answer;
static size_t answer_len, answer_cap;

static void add(const void *data, size_t len)
{
    if (answer_len + len + 1 > answer_cap) {
        answer_cap = 2 * (answer_len + len) + 256;
        answer = realloc(answer, answer_cap);
        if (answer == NULL)
            exit(2);
    }
    if (len != 0)
        memcpy(answer + answer_len, data, len);
    answer_len += len;
}

/* Bytes that are said as they are. */
static bool plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == ' ' ||
           c == '.' || c == '+' || c == '-' || c == '^' || c == '%';
}

static void add_bytes(const char *kind, const void *data, size_t len)
{
    const unsigned char *p = data;
    char code[8];

    add(kind, strlen(kind));
    for (size_t i = 0, from; i < len;) {
        for (from = i; i < len && plain(p[i]); i++)
            ;
        add(p + from, i - from);
        if (i < len && i == from)
            add(code, (size_t)snprintf(code, sizeof code, "\\%02x", p[i++]));
    }
}

static void part(void)
{
    if (answer_len != 0)
        add("\t", 1);
}

void say_word(const char *word)
{
    part();
    add(word, strlen(word));
}

void say_value(const void *data, size_t len)
{
    part();
    add_bytes("v", data, len);
}

void say_number(long number)
{
    char digits[32];

    say_value(digits, (size_t)snprintf(digits, sizeof digits, "%ld", number));
}

void say_name(const void *name, size_t len)
{
    part();
    add_bytes("n", name, len);
}

void say_subscript(const void *data, size_t len)
{
    add_bytes(",", data, len);
}

void say_its_value(const void *data, size_t len)
{
    add_bytes("=", data, len);
}

bool said_anything(void)
{
    return answer_len != 0;
}

void unsay(void)
{
    answer_len = 0;
}

static void answer_now(void)
{
    add("\n", 1);
    fwrite(answer, 1, answer_len, stdout);
    fflush(stdout);
    answer_len = 0;
}

static void answer_word(const char *word)
{
    say_word(word);
    answer_now();
}

/* ---------------------------------------------------------------- being told */

static unsigned digit(char c)
{
    return (unsigned)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
}

/* The bytes that are written at s, in its place. */
static struct text bytes(char *s)
{
    char *to = s;
    struct text t = {.data = s};

    for (; *s != '\0'; s++)
        if (*s == '\\') {
            *to++ = (char)(digit(s[1]) << 4 | digit(s[2]));
            s += 2;
        } else {
            *to++ = *s;
        }
    *to = '\0';
    t.len = (size_t)(to - t.data);
    return t;
}

static void read_node(struct place *p, char *field)
{
    p->nsubs = 0;
    p->name = bytes(strsep(&field, ","));
    for (char *sub; (sub = strsep(&field, ",")) != NULL && p->nsubs < SUBS_MAX;)
        p->subs[p->nsubs++] = bytes(sub);
}

static bool read_line(struct told *t)
{
    static char *text;
    static size_t cap;
    ssize_t n = getline(&text, &cap, stdin);

    at_end = n <= 0;
    if (at_end) {
        free(text);
        text = NULL;
        return false;
    }
    text[n - 1] = '\0';
    char *rest = text;
    t->op = strsep(&rest, "\t");
    t->nnodes = 0;
    t->has_value = false;
    t->word = "";
    for (char *field; (field = strsep(&rest, "\t")) != NULL;)
        if (field[0] == 'n' && t->nnodes < NODES_MAX) {
            read_node(&t->nodes[t->nnodes++], field + 1);
        } else if (field[0] == 'v') {
            t->value = bytes(field + 1);
            t->has_value = true;
        } else {
            t->word = field + 1;
        }
    return true;
}

bool told(const struct told *t, const char *op)
{
    return strcmp(t->op, op) == 0;
}

/* ------------------------------------------------------------------- serving */

static enum end lines(void);
static bool begun; /* the body of the transaction just begun has run */

/* What a transaction runs. */
static enum end body(void)
{
    answer_word(begun ? "again" : "ok");
    begun = true;
    unsigned here = ++depth;
    enum end e = lines();
    depth = here - 1;
    begun = true;
    return e;
}

/* false: what it is in is to begin again. */
static bool transaction(const struct told *t)
{
    bool outer = begun;

    begun = false;
    const char *what = front->transaction(t, body);
    bool ran = begun;
    begun = outer;
    if (ran && depth != 0 && strcmp(what, "RESTART") == 0)
        return false;
    if (!at_end)
        answer_word(what);
    return true;
}

/* Until one ends the transaction. */
static enum end lines(void)
{
    struct told t;

    while (read_line(&t)) {
        bool on = true;
        if (depth != 0 && told(&t, "commit"))
            return END_COMMIT;
        if (depth != 0 && told(&t, "rollback"))
            return END_ROLLBACK;
        if (depth != 0 && told(&t, "fail"))
            return END_FAIL;
        if (depth != 0 && told(&t, "restart"))
            return END_RESTART;
        if (told(&t, "begin") || told(&t, "snapshot")) {
            on = transaction(&t);
        } else {
            on = front->perform(&t);
            if (on)
                answer_now();
        }
        if (!on) {
            unsay();
            return END_RESTART;
        }
    }
    return END_ROLLBACK;
}

int serve(const struct front *f, int argc, char **argv)
{
    front = f;
    if (argc != 3) {
        fprintf(stderr, "%s DATABASE write|read\n", argv[0]);
        return 2;
    }
    if (!front->open(argv[1], strcmp(argv[2], "read") == 0))
        return 2;
    answer_word(front->names);
    while (!at_end)
        lines();
    front->close();
    free(answer);
    return 0;
}
