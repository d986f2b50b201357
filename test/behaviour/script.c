/*
 * script.c - reads the files of test/behaviour.
 *
 * What is written, ^b(1,"x y"), becomes what fronts are told and say, n^b,1,x y: see README.md.
 */
#include "script.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The operations and what they take: n a node, v a value, w a word, V and W one that may be left out, * nodes, = that
 * sign.
 */
static const struct {
    const char *op, *takes;
} operations[] = {
    {"set", "n=v"},
    {"get", "n"},
    {"data", "n"},
    {"delete", "n"},
    {"kill", "n"},
    {"incr", "nV"},
    {"incr_m", "nV"},
    {"merge", "nn"},
    {"next", "n"},
    {"previous", "n"},
    {"first", "n"},
    {"last", "n"},
    {"node_next", "n"},
    {"node_previous", "n"},
    {"children", "n"},
    {"walk", "n"},
    {"children_back", "n"},
    {"variables", ""},
    {"walk_back", "n"},
    {"locals", ""},
    {"text", "n"},
    {"zwr", "v"},
    {"unzwr", "v"},
    {"parse", "v"},
    {"float", "w"},
    {"lock", "nw"},
    {"unlock", "n"},
    {"unlock_all", ""},
    {"lock_all", "w*"},
    {"lock_more", "w*"},
    {"begin", "W"},
    {"snapshot", ""},
    {"commit", ""},
    {"rollback", ""},
    {"fail", ""},
    {"restart", ""},
    {"level", ""},
    {"restarts", ""},
    {"nest", "w"},
    {"close", ""},
    {"die", ""},
    {"leave", ""},
    {"answer", ""},
    {"copy", "nn"},
    {"move", "nn"},
    {"count", "n"},
    {"put", "n=vw"},
    {"get2", "nn"},
    {"exists", "n"},
    {"random", "n"},
    {"place", ""},
    {"wait", "nw"},
    {"incr_strict", "nv"},
    {"kill_range", "nn"},
    {"kill_before", "nn"},
    {"kill_prefix", "nv"},
    {"range", "nn"},
    {"range_back", "nn"},
    {"prefix", "nv"},
    {"prefix_back", "nv"},
};

/* Where we are in a line; `why` is what is wrong, if anything is. */
struct cursor {
    const char *s;
    const char *why;
    bool locals; /* names lose their '^' */
};

/* ---------------------------------------------------------------------- text */

static void *room(void *old, size_t n)
{
    void *p = realloc(old, n);

    if (p == NULL) {
        fputs("no memory\n", stderr);
        exit(2);
    }
    return p;
}

void out_add(struct out *o, const void *data, size_t len)
{
    if (o->len + len + 1 > o->cap) {
        o->cap = 2 * (o->len + len) + 64;
        o->data = room(o->data, o->cap);
    }
    if (len != 0)
        memcpy(o->data + o->len, data, len);
    o->len += len;
    o->data[o->len] = '\0';
}

void out_free(struct out *o)
{
    free(o->data);
    *o = (struct out){0};
}

static void add_text(struct out *o, const char *text)
{
    out_add(o, text, strlen(text));
}

/* Bytes that are told as they are. */
static bool plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == ' ' ||
           c == '.' || c == '+' || c == '-' || c == '^' || c == '%';
}

static void add_bytes(struct out *o, const struct out *bytes)
{
    const unsigned char *p = (const unsigned char *)bytes->data;
    char code[8];

    for (size_t i = 0, from; i < bytes->len;) {
        for (from = i; i < bytes->len && plain(p[i]); i++)
            ;
        out_add(o, p + from, i - from);
        if (i < bytes->len && i == from)
            out_add(o, code, (size_t)snprintf(code, sizeof code, "\\%02x", p[i++]));
    }
}

/* -------------------------------------------------------------------- values */

static bool wrong(struct cursor *c, const char *why)
{
    if (c->why == NULL)
        c->why = why;
    return false;
}

static bool expect(struct cursor *c, char letter, const char *why)
{
    if (*c->s != letter)
        return wrong(c, why);
    c->s++;
    return true;
}

static bool parse_value(struct cursor *c, struct out *o);

/* "text", with "" for a quote */
static bool parse_quoted(struct cursor *c, struct out *o)
{
    for (c->s++;; c->s++) {
        if (*c->s == '\0')
            return wrong(c, "a quote without its end");
        if (*c->s == '"' && *++c->s != '"')
            return true;
        out_add(o, c->s, 1);
    }
}

static unsigned long parse_number(struct cursor *c, unsigned long most)
{
    char *end;
    unsigned long n = strtoul(c->s, &end, 10);

    if (end == c->s || !isdigit((unsigned char)*c->s) || n > most) {
        wrong(c, "not a number, or too large a one");
        return 0;
    }
    c->s = end;
    return n;
}

/* $C(byte,...) */
static bool parse_bytes(struct cursor *c, struct out *o)
{
    c->s += strlen("$C");
    do {
        c->s++;
        out_add(o, (char[]){(char)parse_number(c, 255)}, 1);
    } while (c->why == NULL && *c->s == ',');
    return c->why == NULL && expect(c, ')', "a ) is missing");
}

/* $REP(value,count) */
static bool parse_repeated(struct cursor *c, struct out *o)
{
    struct out part = {0};

    c->s += strlen("$REP(");
    if (parse_value(c, &part) && expect(c, ',', "$REP(value,count)"))
        for (unsigned long n = parse_number(c, 1ul << 28); n != 0; n--)
            out_add(o, part.data, part.len);
    out_free(&part);
    return c->why == NULL && expect(c, ')', "a ) is missing");
}

static bool parse_bare(struct cursor *c, struct out *o)
{
    size_t n = strspn(c->s, "+-.0123456789E");

    if (n == 0 || *c->s == 'E')
        return wrong(c, "a value was expected: \"text\", $C(1), $REP(\"x\",9) or a number");
    out_add(o, c->s, n);
    c->s += n;
    return true;
}

static bool parse_part(struct cursor *c, struct out *o)
{
    if (*c->s == '"')
        return parse_quoted(c, o);
    if (strncmp(c->s, "$C(", 3) == 0)
        return parse_bytes(c, o);
    if (strncmp(c->s, "$REP(", 5) == 0)
        return parse_repeated(c, o);
    return parse_bare(c, o);
}

/* Parts with _ between. */
static bool parse_value(struct cursor *c, struct out *o)
{
    out_add(o, "", 0);
    do
        if (!parse_part(c, o))
            return false;
    while (*c->s == '_' && c->s++);
    return true;
}

/* ---------------------------------------------------------- fields for fronts */

/* kind and value */
static bool add_value(struct cursor *c, struct out *o, const char *kind)
{
    struct out value = {0};
    bool read = parse_value(c, &value);

    add_text(o, kind);
    add_bytes(o, &value);
    out_free(&value);
    return read;
}

/* A name; one that is none can be given in quotes. */
static bool add_name(struct cursor *c, struct out *o)
{
    struct out name = {0};
    size_t n = strcspn(c->s, " (=");

    if (*c->s == '"') {
        parse_quoted(c, &name);
    } else {
        if (c->locals && *c->s == '^') {
            c->s++;
            n--;
        }
        out_add(&name, c->s, n);
        c->s += n;
        if (n == 0)
            wrong(c, "a node was expected");
    }
    add_text(o, "n");
    add_bytes(o, &name);
    out_free(&name);
    return c->why == NULL;
}

static bool add_node(struct cursor *c, struct out *o)
{
    if (!add_name(c, o))
        return false;
    if (*c->s != '(')
        return true;
    do {
        c->s++;
        if (!add_value(c, o, ","))
            return false;
    } while (*c->s == ',');
    return expect(c, ')', "a ) is missing");
}

/* ok, none, KEY2BIG: what can't be a node. */
static size_t word_length(const char *s)
{
    size_t n = strcspn(s, " ");

    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!isupper((unsigned char)s[i]) && !isdigit((unsigned char)s[i]) && s[i] != '_' && s[i] != '|')
            return (n == 2 && strncmp(s, "ok", n) == 0) || (n == 4 && strncmp(s, "none", n) == 0) ||
                           (n == 5 && strncmp(s, "later", n) == 0)
                       ? n
                       : 0;
    return isdigit((unsigned char)*s) ? 0 : n;
}

/* What is expected: words, values, nodes, nodes with values, and | between answers that are all right. */
static void add_answers(struct cursor *c, struct out *o)
{
    do {
        size_t n = word_length(c->s);
        if (n != 0) {
            out_add(o, c->s, n);
            c->s += n;
        } else if (strchr("\"$+-.0123456789", *c->s) != NULL && *c->s != '\0') {
            add_value(c, o, "v");
        } else if (add_node(c, o) && *c->s == '=') {
            c->s++;
            add_value(c, o, "=");
        }
        if (*c->s != '\0' && expect(c, ' ', "no space between answers"))
            out_add(o, "\t", 1);
    } while (c->why == NULL && *c->s != '\0');
}

/* -------------------------------------------------------------------- a line */

static bool at_end(const struct cursor *c)
{
    return *c->s == '\0' || strncmp(c->s, "->", 2) == 0;
}

static void skip_space(struct cursor *c)
{
    c->s += strspn(c->s, " ");
}

static void add_argument(struct cursor *c, struct out *o, char kind)
{
    skip_space(c);
    if (at_end(c) && strchr("VW*", kind) != NULL)
        return;
    if (kind != '=')
        out_add(o, "\t", 1);
    switch (kind) {
    case 'n': add_node(c, o); break;
    case 'v':
    case 'V': add_value(c, o, "v"); break;
    case '=': expect(c, '=', "a = is missing"); break;
    case '*':
        add_node(c, o);
        if (c->why == NULL)
            add_argument(c, o, kind);
        break;
    default:
        if (at_end(c))
            wrong(c, "a word is missing");
        add_text(o, "w");
        out_add(o, c->s, strcspn(c->s, " "));
        c->s += strcspn(c->s, " ");
    }
}

static void add_operation(struct cursor *c, struct line *l, struct out *o)
{
    size_t n = strcspn(c->s, " ");

    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        const char *op = operations[i].op;
        if (strlen(op) != n || strncmp(op, c->s, n) != 0)
            continue;
        l->op = op;
        add_text(o, c->locals && strcmp(op, "variables") == 0 ? "locals" : op);
        c->s += n;
        for (const char *kind = operations[i].takes; *kind != '\0' && c->why == NULL; kind++)
            add_argument(c, o, *kind);
        return;
    }
    wrong(c, "unknown operation");
}

bool line_is(const struct line *l, const char *op)
{
    return strcmp(l->op, op) == 0;
}

bool line_begins(const struct line *l)
{
    return line_is(l, "begin") || line_is(l, "snapshot");
}

bool line_ends(const struct line *l)
{
    return line_is(l, "commit") || line_is(l, "rollback") || line_is(l, "fail");
}

/* The answer that need not be written. */
static const char *usual(const struct line *l)
{
    return line_is(l, "rollback") ? "ROLLBACK" : line_is(l, "fail") ? "FAILED" : "ok";
}

/* OPERATION [-> ANSWER], as fronts are told it. */
static void parse_rest(struct cursor *c, struct line *l, struct out *asked, struct out *wanted)
{
    const char *from = c->s;

    add_operation(c, l, asked);
    skip_space(c);
    if (c->why != NULL)
        return;
    if (!c->locals)
        out_add(&l->text, from, (size_t)(c->s - from));
    if (*c->s != '\0' && strncmp(c->s, "-> ", 3) != 0) {
        wrong(c, "more than the operation takes");
        return;
    }
    c->s = *c->s != '\0' ? c->s + 3 : usual(l);
    if (!c->locals)
        add_text(&l->answer, c->s);
    add_answers(c, wanted);
}

/* [@RUN[?]] [SESSION:] OPERATION [-> ANSWER].  What is wrong, or NULL. */
static const char *parse_line(const char *text, struct line *l, bool locals_too)
{
    struct cursor c = {text, NULL, false};

    if (*c.s == '@') {
        c.s++;
        l->run = (unsigned)parse_number(&c, 99);
        l->maybe = *c.s == '?';
        c.s += l->maybe;
        if (l->run == 0 || *c.s != ' ')
            return "@ and the number of a run were expected";
        skip_space(&c);
    }
    l->session = 1;
    if (*c.s != '\0' && c.s[1] == ':') {
        if (strchr("123456789r", *c.s) == NULL)
            return "a session is 1 to 9, or r";
        l->session = *c.s == 'r' ? READER : *c.s - '0';
        c.s += 2;
        skip_space(&c);
    }
    struct cursor locals = {c.s, NULL, true};
    parse_rest(&c, l, &l->asked, &l->wanted);
    if (c.why == NULL && locals_too)
        parse_rest(&locals, l, &l->asked_locals, &l->wanted_locals);
    return c.why;
}

/* --------------------------------------------------------------------- files */

static void malformed(const char *file, unsigned number, const char *why)
{
    fprintf(stderr, "%s:%u: %s\n", file, number, why);
    exit(2);
}

/* What there is to name, so that a slip does not hide a case. */
static bool tags_known(const char *tags)
{
    static const char known[] = " c lua doubles yottadb python small store ";
    char *words = strdup(tags), *rest = NULL, word[80];
    bool all = true;

    for (char *w = strtok_r(words, " ", &rest); w != NULL; w = strtok_r(NULL, " ", &rest)) {
        snprintf(word, sizeof word, " %s ", w);
        all = all && (w == words || strstr(known, word) != NULL);
    }
    free(words);
    return all;
}

static void begin_case(struct script *s, const char *file, unsigned number, const char *text, bool locals_too)
{
    size_t n = strcspn(text, " ");
    const char *tags = text + n + strspn(text + n, " ");

    if (n == 0 || (*tags != '\0' && strncmp(tags, "only ", 5) != 0 && strncmp(tags, "except ", 7) != 0))
        malformed(file, number, "case NAME [only FRONT...|except FRONT...]");
    if (!tags_known(tags))
        malformed(file, number, "there is no such front: a new one is to be added to script.c");
    for (size_t i = 0; i < s->ntests; i++)
        if (strlen(s->tests[i].name) == n && strncmp(s->tests[i].name, text, n) == 0)
            malformed(file, number, "there is a case of that name");
    s->tests = room(s->tests, (s->ntests + 1) * sizeof *s->tests);
    s->tests[s->ntests++] =
        (struct test){.file = file, .name = strndup(text, n), .tags = strdup(tags), .locals_too = locals_too};
}

static void add_line(struct test *t, unsigned number, const char *text)
{
    t->lines = room(t->lines, (t->nlines + 1) * sizeof *t->lines);
    struct line *l = &t->lines[t->nlines++];
    *l = (struct line){.file = t->file, .number = number};
    const char *why = parse_line(text, l, t->locals_too);
    if (why != NULL)
        malformed(t->file, number, why);
}

/* Each session's transactions end, and what is said of runs and of other sessions makes sense. */
static void check_case(const struct test *t, unsigned number)
{
    int depth[SESSIONS] = {0};

    for (size_t i = 0; i < t->nlines; i++) {
        const struct line *l = &t->lines[i];
        if (l->run != 0 && depth[1] == 0)
            malformed(t->file, l->number, "a run is one of a transaction of session 1");
        if (l->session != 1 && t->locals_too)
            malformed(t->file, l->number, "other sessions don't see the first one's locals");
        depth[l->session] += line_begins(l) - line_ends(l);
        if (depth[l->session] < 0)
            malformed(t->file, l->number, "nothing to end");
        if (line_is(l, "die") || line_is(l, "leave"))
            depth[l->session] = 0;
    }
    if (depth[1] != 0)
        malformed(t->file, number, "a transaction has no end");
    if (t->nlines == 0)
        malformed(t->file, number, "an empty case");
}

/* One line of a file, without space around it. */
static void take(struct script *s, const char *file, unsigned number, const char *text, bool *inside,
                 bool *locals)
{
    struct test *t = s->ntests != 0 ? &s->tests[s->ntests - 1] : NULL;

    if (*inside && strcmp(text, "end") == 0) {
        check_case(t, number);
        *inside = false;
    } else if (*inside) {
        add_line(t, number, text);
    } else if (strncmp(text, "case ", 5) == 0) {
        begin_case(s, file, number, text + 5, *locals);
        *inside = true;
    } else if (strcmp(text, "with locals") == 0) {
        *locals = true;
    } else {
        malformed(file, number, "neither a case nor \"with locals\"");
    }
}

void script_load(struct script *s, const char *file)
{
    FILE *f = fopen(file, "r");
    char *text = NULL;
    size_t cap = 0;
    bool inside = false, locals = false;
    unsigned number = 0;

    if (f == NULL)
        malformed(file, 0, strerror(errno));
    for (ssize_t n; (n = getline(&text, &cap, f)) >= 0;) {
        number++;
        if (strlen(text) != (size_t)n)
            malformed(file, number, "a zero byte: write $C(0)");
        while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
            text[--n] = '\0';
        const char *from = text + strspn(text, " ");
        if (*from != '\0' && *from != '#')
            take(s, file, number, from, &inside, &locals);
    }
    if (inside)
        malformed(file, number, "the last case has no end");
    free(text);
    fclose(f);
}

static void free_line(struct line *l)
{
    struct out *texts[] = {&l->text, &l->asked, &l->answer, &l->wanted, &l->asked_locals, &l->wanted_locals};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        out_free(texts[i]);
}

void script_free(struct script *s)
{
    for (size_t i = 0; i < s->ntests; i++) {
        struct test *t = &s->tests[i];
        for (size_t k = 0; k < t->nlines; k++)
            free_line(&t->lines[k]);
        free(t->lines);
        free((char *)t->name);
        free((char *)t->tags);
    }
    free(s->tests);
    *s = (struct script){0};
}
