/*
 * acl_config.c - users of redis.conf: lines `user NAME RULE...`.
 *
 * They are made when all lines were read, as acl-pubsub-default may come after them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/admin/acl.h"
#include "server/parse.h"
#include "server/worker.h"

static struct line {
    struct line *next;
    int n;
    char **words;
    size_t *lens;
} * first, **last = &first;

static caret_slice word_of(const struct line *l, int i)
{
    return (caret_slice){l->words[i], l->lens[i]};
}

static const char *apply(struct serve__user *u, const struct line *l, bool all_channels)
{
    for (int i = 1; i < l->n; i++) {
        const char *wrong = serve__user_apply(u, word_of(l, i), all_channels);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static const char *try(const struct line *l)
{
    static char error[256];
    struct serve__user *u = serve__user_new(word_of(l, 0), false);
    const char *wrong = u != NULL ? apply(u, l, false) : "no memory";
    serve__user_free(u);
    if (wrong == NULL)
        return NULL;
    snprintf(error, sizeof error, "Error in user declaration '%.100s': %.120s", l->words[0], wrong);
    return error;
}

static bool is_there(caret_slice name)
{
    for (const struct line *l = first; l != NULL; l = l->next)
        if (l->lens[0] == name.len && memcmp(l->words[0], name.data, name.len) == 0)
            return true;
    return false;
}

const char *serve__acl_add_line(const caret_slice *argv, int argc)
{
    if (is_there(argv[1]))
        return "Duplicate user found. A user can only be defined once in config files";
    struct line *l = calloc(1, sizeof *l);
    if (l == NULL || (l->words = calloc((size_t)argc, sizeof *l->words)) == NULL ||
        (l->lens = calloc((size_t)argc, sizeof *l->lens)) == NULL)
        return "no memory";
    for (l->n = 0; l->n < argc - 1; l->n++) {
        l->lens[l->n] = argv[l->n + 1].len;
        l->words[l->n] = calloc(1, argv[l->n + 1].len + 1);
        if (l->words[l->n] == NULL)
            return "no memory";
        memcpy(l->words[l->n], argv[l->n + 1].data, argv[l->n + 1].len);
    }
    *last = l;
    last = &l->next;
    return try(l);
}

bool serve__acl_has_lines(void)
{
    return first != NULL;
}

const char *serve__acl_put_lines(bool all_channels)
{
    for (const struct line *l = first; l != NULL; l = l->next) {
        struct serve__user *u = serve__user_new(word_of(l, 0), all_channels);
        const char *wrong = u != NULL ? apply(u, l, all_channels) : "no memory";
        if (wrong != NULL)
            return wrong;
        serve__acl_put(u);
    }
    return NULL;
}
