/* Any bytes as requests to the server: they are the same commands, and the same error, whether they come at once or in
 * pieces, with the input moved in memory between these; and arguments lie within what has come, or within the words of
 * an inline command with quotes, which are no longer.  What came at once is read as a connection reads it: what is the
 * same again is not looked at again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int yes)
{
    if (!yes)
        abort();
}

struct feed {
    struct serve__parser parser;
    struct serve__buffer in;
    struct serve__args args;
    struct serve__buffer found; /* each command: its arguments with their lengths */
    enum serve__parsed end;
};

static int within(const caret_slice *a, const char *from, size_t len)
{
    return from != NULL && a->data >= from && a->data + a->len <= from + len;
}

static void note(struct feed *f, size_t first, int argc)
{
    check(f->parser.at <= f->in.len);
    serve__buffer_add(&f->found, &argc, sizeof argc);
    for (size_t i = first; i < first + (size_t)argc; i++) {
        const caret_slice *a = &f->args.v[i];
        check(within(a, f->in.data, f->in.len) || within(a, f->args.line, f->in.len));
        serve__buffer_add(&f->found, &a->len, sizeof a->len);
        serve__buffer_add(&f->found, a->data, a->len);
    }
}

/* More input, at another place in memory, as often as a connection would move it. */
static void more(struct feed *f, const uint8_t *data, size_t size)
{
    char *at = malloc(f->in.len + size + 1);
    check(at != NULL);
    if (f->in.len > 0)
        memcpy(at, f->in.data, f->in.len);
    if (size > 0)
        memcpy(at + f->in.len, data, size);
    serve__parse_moved(&f->args, f->parser.first, f->in.data, at);
    free(f->in.data);
    f->in = (struct serve__buffer){at, f->in.len + size, f->in.len + size + 1, false};
}

/* Those that follow and are the same. */
static void run_alike(struct feed *f, size_t len, int argc)
{
    while (serve__parse_again(&f->parser, &f->in, &f->args, len, argc))
        note(f, f->args.n - (size_t)argc, argc);
}

static void run(struct feed *f, int is_whole)
{
    static const struct serve__parse_limits limits = {1 << 20, false};
    size_t first;
    int argc;
    while (f->end != SERVE__PARSED_ERROR) {
        size_t before = f->parser.at;
        f->end = serve__parse(&f->parser, &f->in, &f->args, &limits, &first, &argc);
        if (f->end != SERVE__PARSED_COMMAND)
            return;
        note(f, first, argc);
        if (is_whole)
            run_alike(f, f->parser.at - before, argc);
        f->args.n = f->parser.first = 0;
    }
}

static void done(struct feed *f)
{
    free(f->in.data);
    serve__args_free(&f->args);
    serve__buffer_free(&f->found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed whole = {.parser.bulk = -1}, pieces = {.parser.bulk = -1};
    if (size < 1)
        return 0;
    size_t step = 1 + data[0] % 16;
    data++, size--;
    more(&whole, data, size);
    run(&whole, 1);
    for (size_t at = 0; at < size; at += step) {
        more(&pieces, data + at, size - at < step ? size - at : step);
        run(&pieces, 0);
    }
    check(whole.end == pieces.end && whole.found.len == pieces.found.len);
    check(whole.found.len == 0 || memcmp(whole.found.data, pieces.found.data, whole.found.len) == 0);
    if (whole.end == SERVE__PARSED_ERROR)
        check(strcmp(whole.parser.error, pieces.parser.error) == 0);
    done(&whole);
    done(&pieces);
    return 0;
}
