/*
 * judge.c - runs the files of test/behaviour through a front, and judges its answers.
 *
 *     judge FILE... -- COMMAND [ARGUMENT...]
 *
 * Each session of a case is a process COMMAND ARGUMENT... DATABASE write|read.  It first says what it is (the words
 * that `only` and `except` of cases name), and then answers each line that it is told by one.  README.md has that
 * language.  Session 1 stays for all cases, and is told to `clear` before each; the others begin when a case first
 * speaks to them, and are kept for later cases if they can be told to `clear` as well.
 *
 * Where CARET_TEST_URL is set that is the database of all, not a file, and `store` a name of the front.  What one by
 * an address can't do is in the list of CARET_TEST_UNSUPPORTED, in lines `case NAME`: it has to come to an answer
 * UNSUPPORTED, and ends there.  So the list has all of them, and none that works.
 *
 * A front that begins its transaction again, at whatever line, answers "again": then we are after `begin`.
 */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "script.h"
#include "support/crowd.h"

enum { SILENCE_S = 40 }; /* after that a session is taken for hanging, on a machine of one's own */

struct session {
    pid_t pid; /* 0: there is none */
    FILE *to;
    int from;
    struct out heard; /* and not yet taken as a line */
    int depth;        /* of its transactions, and */
    int waiting;      /* answers to come: while there are any it can't be used for another case */
    bool closed;
};

static char **command; /* with room for two more */
static size_t nwords;
static char folder[64], in_folder[80];
static char *path = in_folder; /* or a URL */
static struct out unsupported; /* a newline before and after each name */
static char names[256];        /* of the front, a space before and after each */
static struct session sessions[SESSIONS];

/* The case that runs. */
static const struct test *test;
static bool locals, failed, refused; /* refused: it came to UNSUPPORTED, as was expected */
static size_t at, begun;             /* the next line; the first one of the transaction */
static unsigned depth, run;          /* of session 1: transactions within each other, and which run it is */

/* ------------------------------------------------------------------ sessions */

static void become_front(int in, int out, bool readonly)
{
    command[nwords] = path;
    command[nwords + 1] = readonly ? "read" : "write";
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
        _exit(2);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    execvp(command[0], command);
    perror(command[0]);
    _exit(2);
}

static void stop(struct session *s, int sig)
{
    if (s->pid == 0)
        return;
    if (sig != 0)
        kill(s->pid, sig);
    fclose(s->to);
    close(s->from);
    out_free(&s->heard);
    waitpid(s->pid, NULL, 0);
    *s = (struct session){0};
}

/* Wait for more of what the session says.  false: it has ended, or says nothing. */
static bool listen_to(struct session *s, const char **why)
{
    static char part[1 << 16];
    struct pollfd p = {.fd = s->from, .events = POLLIN};

    *why = "SILENT";
    if (poll(&p, 1, (int)(SILENCE_S * 1000 * crowd())) <= 0)
        return false;
    *why = "GONE";
    ssize_t n = read(s->from, part, sizeof part);
    if (n > 0)
        out_add(&s->heard, part, (size_t)n);
    return n > 0;
}

/* Its next line; GONE or SILENT, if there is none: then it is ended. */
static void hear(struct session *s, struct out *line)
{
    const char *why = "GONE", *end = NULL;
    size_t looked = 0;
    bool more = s->pid != 0;

    while (more && (s->heard.len == looked ||
                    (end = memchr(s->heard.data + looked, '\n', s->heard.len - looked)) == NULL)) {
        looked = s->heard.len;
        more = listen_to(s, &why);
    }
    if (!more) {
        out_add(line, why, strlen(why));
        stop(s, SIGKILL);
        return;
    }
    size_t len = (size_t)(end - s->heard.data);
    out_add(line, s->heard.data, len);
    s->heard.len -= len + 1;
    memmove(s->heard.data, end + 1, s->heard.len);
}

static void start(struct session *s, bool readonly)
{
    int in[2], out[2];
    struct out said = {0};

    if (pipe(in) != 0 || pipe(out) != 0 || (s->pid = fork()) < 0) {
        perror("judge");
        exit(2);
    }
    if (s->pid == 0)
        become_front(in[0], out[1], readonly);
    close(in[0]);
    close(out[1]);
    s->to = fdopen(in[1], "w");
    s->from = out[0];
    hear(s, &said);
    snprintf(names, sizeof names, " %s %s", said.data, strstr(path, "://") != NULL ? "store " : "");
    out_free(&said);
}

static void tell(struct session *s, bool readonly, const char *text)
{
    if (s->pid == 0)
        start(s, readonly);
    if (s->pid == 0) /* it ended at once */
        return;
    fprintf(s->to, "%s\n", text);
    fflush(s->to);
}

/* Have the session do what the line says. */
static void ask(const struct line *l, struct out *answer)
{
    struct session *s = &sessions[l->session];
    bool ends = line_is(l, "die") || line_is(l, "leave");

    if (ends)
        stop(s, line_is(l, "die") ? SIGKILL : 0);
    else if (!line_is(l, "answer"))
        tell(s, l->session == READER, locals ? l->asked_locals.data : l->asked.data);
    else
        s->waiting--;
    s->closed = s->closed || line_is(l, "close");
    bool later = strcmp(l->wanted.data, "later") == 0;
    s->waiting += later;
    if (later)
        out_add(answer, "later", 5);
    else if (ends)
        out_add(answer, "ok", 2);
    else
        hear(s, answer);
}

/* ------------------------------------------------------------------- judging */

/* Is it the answer, or one of several with | between? */
static bool matches(const char *wanted, const char *answer)
{
    size_t len = strlen(answer);

    for (const char *s = wanted; s != NULL; s = strstr(s, "\t|\t"), s = s != NULL ? s + 3 : NULL)
        if (strncmp(s, answer, len) == 0 && (s[len] == '\0' || strncmp(s + len, "\t|\t", 3) == 0))
            return true;
    return false;
}

static bool is_unsupported(const struct test *t)
{
    char line[200];

    snprintf(line, sizeof line, "\n%s\n", t->name);
    return unsupported.len != 0 && strstr(unsupported.data, line) != NULL;
}

static void judge(const struct line *l, const struct out *answer)
{
    const struct out *wanted = locals ? &l->wanted_locals : &l->wanted;

    if (failed || matches(wanted->data, answer->data))
        return;
    refused = strcmp(answer->data, "UNSUPPORTED") == 0 && is_unsupported(test);
    if (refused)
        return;
    printf("FAILED %s%s\n    %s:%u: %.200s-> %.200s\n    wanted %.200s\n    got    %.200s\n", test->name,
           locals ? " with locals" : "", l->file, l->number, l->text.data, l->answer.data, wanted->data,
           answer->data);
    failed = true;
}

/* It could not begin: on to its end. */
static void pass_over(void)
{
    for (unsigned open = 1; open != 0; at++)
        if (test->lines[at].session == 1)
            open += (unsigned)line_begins(&test->lines[at]) - (unsigned)line_ends(&test->lines[at]);
}

/* The transaction has ended: did all its runs come that lines are for? */
static void check_runs(void)
{
    for (size_t i = begun; i < at && !failed; i++) {
        const struct line *l = &test->lines[i];
        if (l->run > run && !l->maybe) {
            printf("FAILED %s\n    %s:%u: there were only %u runs of the transaction\n", test->name, l->file,
                   l->number, run);
            failed = true;
        }
    }
}

static void go_again(void)
{
    at = begun;
    depth = 1;
    run++;
}

/* A line of session 1 was answered: where are we in its transactions? */
static void follow(const struct line *l, const char *answer)
{
    if (line_begins(l) && strcmp(answer, "ok") != 0) {
        pass_over();
    } else if (line_begins(l)) {
        if (depth++ == 0) {
            begun = at;
            run = 1;
        }
    } else if (line_ends(l)) {
        if (--depth == 0)
            check_runs();
    } else if (line_is(l, "die") || line_is(l, "leave")) {
        depth = 0;
    }
}

static void run_line(const struct line *l)
{
    struct out answer = {0};

    ask(l, &answer);
    bool again = depth != 0 && l->session == 1 && strcmp(answer.data, "again") == 0;
    if (again && run < 9) {
        go_again();
    } else {
        judge(l, &answer);
        if (l->session == 1)
            follow(l, answer.data);
        else
            sessions[l->session].depth += line_begins(l) - line_ends(l);
    }
    out_free(&answer);
}

/* Nothing is there afterwards: no variables, no locks.  A session that can't do that ends. */
static bool clear(int i)
{
    struct session *s = &sessions[i];
    struct out answer = {0};

    bool can = i != READER && (i != 1 ? s->depth : (int)depth) == 0 && s->waiting == 0 && !s->closed;
    if (can) {
        tell(s, false, "clear");
        hear(s, &answer);
        can = strcmp(answer.data, "ok") == 0;
        out_free(&answer);
    }
    if (!can)
        stop(s, SIGKILL);
    return can;
}

static bool run_case(const struct test *t, bool with_locals)
{
    test = t;
    locals = with_locals;
    at = 0;
    depth = run = 0;
    failed = !clear(1);
    if (failed)
        printf("FAILED %s: session 1 can't begin\n", t->name);
    refused = false;
    while (at < t->nlines && !failed && !refused) {
        const struct line *l = &t->lines[at++];
        if (l->run == 0 || l->run == run)
            run_line(l);
    }
    if (!failed && !refused && is_unsupported(t)) {
        printf("FAILED %s: it is in the list of what is UNSUPPORTED\n", t->name);
        failed = true;
    }
    for (int i = 1; i < SESSIONS; i++)
        if (sessions[i].pid != 0)
            clear(i);
    return !failed;
}

/* ---------------------------------------------------------------------- main */

/* Does one session do, which lives to the end? */
static bool is_alone(const struct test *t)
{
    for (size_t i = 0; i < t->nlines; i++)
        if (t->lines[i].session != 1 || line_is(&t->lines[i], "die") || line_is(&t->lines[i], "leave"))
            return false;
    return true;
}

static bool runs_here(const struct test *t)
{
    if (strstr(names, " alone ") != NULL && !is_alone(t))
        return false;
    bool only = strncmp(t->tags, "only", 4) == 0, named = false;
    char *tags = strdup(t->tags), *rest = NULL, word[80];

    for (char *w = strtok_r(tags, " ", &rest); w != NULL; w = strtok_r(NULL, " ", &rest)) {
        snprintf(word, sizeof word, " %s ", w);
        named = named || strstr(names, word) != NULL;
    }
    free(tags);
    return *t->tags == '\0' || named == only;
}

static void run_all(const struct script *s, size_t counts[2])
{
    size_t here = 0;

    start(&sessions[1], false);
    for (size_t i = 0; i < s->ntests; i++) {
        const struct test *t = &s->tests[i];
        if (!runs_here(t))
            continue;
        here++;
        for (int with = 0; with <= (t->locals_too ? 1 : 0); with++)
            counts[run_case(t, with != 0)]++;
    }
    if (sessions[1].pid == 0) /* they were all killed: what remains of them is tidied up by one that closes */
        start(&sessions[1], false);
    for (int i = 1; i < SESSIONS; i++)
        stop(&sessions[i], 0);
    printf("%zu of %zu cases are for%s\n", here, s->ntests, names);
}

static void remove_folder(void)
{
    DIR *d = opendir(folder);
    char name[400];

    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.')
            unlink(name);
    }
    if (d != NULL)
        closedir(d);
    rmdir(folder);
}

static void take_command(int argc, char **argv, int from)
{
    nwords = (size_t)(argc - from);
    command = calloc(nwords + 3, sizeof *command);
    if (command == NULL || nwords == 0) {
        fputs("judge FILE... -- COMMAND [ARGUMENT...]\n", stderr);
        exit(2);
    }
    memcpy(command, argv + from, nwords * sizeof *command);
}

static void take_url(void)
{
    const char *list = getenv("CARET_TEST_UNSUPPORTED");
    char kind[20], name[200];

    if (getenv("CARET_TEST_URL") == NULL)
        return;
    path = getenv("CARET_TEST_URL");
    FILE *f = list != NULL ? fopen(list, "r") : NULL;
    out_add(&unsupported, "\n", 1);
    while (f != NULL && fscanf(f, " %19s %199s%*[^\n]", kind, name) == 2) {
        if (strcmp(kind, "case") != 0)
            continue;
        out_add(&unsupported, name, strlen(name));
        out_add(&unsupported, "\n", 1);
    }
    if (f != NULL)
        fclose(f);
}

int main(int argc, char **argv)
{
    struct script script = {0};
    size_t counts[2] = {0};
    const char *tmp = getenv("TMPDIR");
    int i = 1;

    for (; i < argc && strcmp(argv[i], "--") != 0; i++)
        script_load(&script, argv[i]);
    take_command(argc, argv, i < argc ? i + 1 : argc);
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    snprintf(folder, sizeof folder, "%s/behaviour-XXXXXX", tmp != NULL && strlen(tmp) < 40 ? tmp : "/tmp");
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 2;
    }
    snprintf(in_folder, sizeof in_folder, "%s/d.caret", folder);
    take_url();
    run_all(&script, counts);
    remove_folder();
    script_free(&script);
    out_free(&unsupported);
    free(command);
    printf("%zu passed, %zu failed\n", counts[1], counts[0]);
    return counts[0] != 0 || counts[1] == 0;
}
