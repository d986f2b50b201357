/*
 * client_tracking.c - CLIENT TRACKING, CACHING, GETREDIR and TRACKINGINFO: meet/tracking.h.
 */
#include <stdlib.h>

#include "server/meet/clients.h"
#include "server/meet/tracking.h"

/* What CLIENT TRACKING was given. */
struct asked {
    uint64_t redirect;
    struct serve__row *row;
    bool bcast;
    unsigned how;
    int prefixes; /* how many; the i-th is found by prefix_of() */
};

static int read_redirect(struct serve__call *q, int i, struct asked *a)
{
    int64_t id;
    if (a->redirect != 0)
        return serve__fail(q, "ERR A client can only redirect to a single other client");
    int rc = serve__arg_integer(q, i, &id);
    if (rc != CARET_OK)
        return rc;
    a->redirect = (uint64_t)id;
    if (id <= 0 || (a->row = serve__client_row(q->w->shared, (uint64_t)id)) == NULL)
        return serve__fail(q, "ERR The client ID you want redirect to does not exist");
    return CARET_OK;
}

static int read_options(struct serve__call *q, struct asked *a)
{
    int rc = CARET_OK;
    for (int i = 3; rc == CARET_OK && i < q->argc; i++) {
        const caret_slice *word = &q->argv[i];
        bool more = i + 1 < q->argc;
        if (more && serve__is(word, "redirect"))
            rc = read_redirect(q, ++i, a);
        else if (serve__is(word, "bcast"))
            a->bcast = true;
        else if (serve__is(word, "optin"))
            a->how |= SERVE__TRACK_OPTIN;
        else if (serve__is(word, "optout"))
            a->how |= SERVE__TRACK_OPTOUT;
        else if (serve__is(word, "noloop"))
            a->how |= SERVE__TRACK_NOLOOP;
        else if (more && serve__is(word, "prefix"))
            i++, a->prefixes++;
        else
            rc = SERVE__E_SYNTAX;
    }
    return rc;
}

/* The next prefix among the arguments, from *i on. */
static const caret_slice *next_prefix(const struct serve__call *q, int *i)
{
    while (*i + 1 < q->argc) {
        bool found = serve__is(&q->argv[*i], "prefix");
        *i += found || serve__is(&q->argv[*i], "redirect") ? 2 : 1;
        if (found)
            return &q->argv[*i - 1];
    }
    return NULL;
}

static bool overlap(caret_slice a, caret_slice b)
{
    return memcmp(a.data, b.data, a.len < b.len ? a.len : b.len) == 0;
}

static int refuse_overlap(struct serve__call *q, caret_slice a, const char *what, caret_slice b)
{
    return serve__fail(
        q,
        "ERR Prefix '%.*s' overlaps with %s prefix '%.*s'. Prefixes for a single client must not "
        "overlap.",
        (int)a.len, a.data, what, (int)b.len, b.data);
}

static int check_prefixes(struct serve__call *q)
{
    const struct serve__tracking *t = q->c->tracking;
    const caret_slice *one, *other;
    caret_slice old;
    for (int i = 3; (one = next_prefix(q, &i)) != NULL;) {
        for (uint32_t k = 0; t != NULL && serve__prefix_at(k, t, &old); k++)
            if (old.data != NULL && overlap(*one, old))
                return refuse_overlap(q, *one, "an existing", old);
        for (int k = i; (other = next_prefix(q, &k)) != NULL;)
            if (overlap(*one, *other))
                return refuse_overlap(q, *one, "another provided", *other);
    }
    return CARET_OK;
}

/* In the order in which Redis looks. */
static int check(struct serve__call *q, const struct asked *a)
{
    const unsigned both = SERVE__TRACK_OPTIN | SERVE__TRACK_OPTOUT;
    const struct serve__conn *c = q->c;
    bool on = c->flags & SERVE__CONN_TRACKING, bcast = c->flags & SERVE__CONN_BCAST;
    if (a->prefixes > 0 && !a->bcast)
        return serve__fail(q, "ERR PREFIX option requires BCAST mode to be enabled");
    if (on && bcast != a->bcast)
        return serve__fail(q, "ERR You can't switch BCAST mode on/off before disabling tracking for this "
                              "client, and then re-enabling it with a different mode.");
    if (a->bcast && (a->how & both))
        return serve__fail(q, "ERR OPTIN and OPTOUT are not compatible with BCAST");
    if ((a->how & both) == both)
        return serve__fail(q, "ERR You can't specify both OPTIN mode and OPTOUT mode");
    if (on && (a->how & both) && (c->tracking->how & both) && (a->how & both) != (c->tracking->how & both))
        return serve__fail(q, "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this "
                              "client, and then re-enabling it with a different mode.");
    return a->bcast ? check_prefixes(q) : CARET_OK;
}

/* How many of our clients track. */
static void count(struct serve__worker *w, int n)
{
    serve__tracking_refresh(w);
    serve__add(&w->stats->trackers, (uint64_t)(int64_t)n);
    serve__tracking_listen(w);
}

static void turn_off(struct serve__worker *w, struct serve__conn *c)
{
    if (!(c->flags & SERVE__CONN_TRACKING))
        return;
    serve__prefixes_end(w, c->tracking);
    c->tracking->prefix_bytes = 0;
    c->flags &= ~(unsigned)(SERVE__CONN_TRACKING | SERVE__CONN_BCAST | SERVE__CONN_BROKEN);
    c->tracking->how = 0;
    c->tracking->redirect = 0;
    count(w, -1);
}

void serve__conn_gone_tracking(struct serve__worker *w, struct serve__conn *c)
{
    struct serve__tracking *t = c->tracking;
    if (t == NULL)
        return;
    turn_off(w, c);
    serve__track_end(w, t);
    serve__tracking_listen(w);
    free(t);
    c->tracking = NULL;
}

static bool begin(struct serve__call *q)
{
    struct serve__tracking *t = q->c->tracking;
    if (t != NULL)
        return true;
    if ((t = calloc(1, sizeof *t)) == NULL)
        return false;
    t->c = q->c;
    if (!serve__track_begin(t)) {
        free(t);
        return false;
    }
    q->c->tracking = t;
    return true;
}

static bool add_prefixes(struct serve__call *q, const struct asked *a)
{
    const caret_slice *one;
    bool fine = a->prefixes > 0 || serve__prefix_add(q->w, q->c->tracking, (caret_slice){"", 0});
    for (int i = 3; fine && (one = next_prefix(q, &i)) != NULL;)
        fine = serve__prefix_add(q->w, q->c->tracking, *one);
    return fine;
}

static int turn_on(struct serve__call *q, const struct asked *a)
{
    struct serve__conn *c = q->c;
    if (!begin(q) || (a->bcast && !add_prefixes(q, a))) {
        turn_off(q->w, c);
        return CARET_E_NOMEM;
    }
    c->tracking->redirect = a->redirect;
    c->tracking->row = a->row;
    c->tracking->how = a->how;
    bool on = c->flags & SERVE__CONN_TRACKING;
    c->flags &= ~(unsigned)(SERVE__CONN_BROKEN | SERVE__CONN_BCAST);
    c->flags |= SERVE__CONN_TRACKING | (a->bcast ? SERVE__CONN_BCAST : 0u);
    if (!on)
        count(q->w, 1);
    return serve__ok(q);
}

int serve__cmd_client_tracking(struct serve__call *q)
{
    struct asked a = {0};
    int rc = read_options(q, &a);
    if (rc != CARET_OK)
        return rc;
    if (serve__is(&q->argv[2], "off")) {
        turn_off(q->w, q->c);
        return serve__ok(q);
    }
    if (!serve__is(&q->argv[2], "on"))
        return SERVE__E_SYNTAX;
    return (rc = check(q, &a)) == CARET_OK ? turn_on(q, &a) : rc;
}

static int set_caching(struct serve__call *q, unsigned mode, const char *word, const char *name)
{
    if (!(q->c->tracking->how & mode))
        return serve__fail(q, "ERR CLIENT CACHING %s is only valid when tracking is enabled in %s mode.",
                           word, name);
    q->c->tracking->how |= SERVE__TRACK_CACHING;
    return serve__ok(q);
}

int serve__cmd_client_caching(struct serve__call *q)
{
    const struct serve__tracking *t = q->c->tracking;
    if (t == NULL || !(q->c->flags & SERVE__CONN_TRACKING))
        return serve__fail(q,
                           "ERR CLIENT CACHING can be called only when the client is in tracking mode with "
                           "OPTIN or OPTOUT mode enabled");
    if (serve__is(&q->argv[2], "yes"))
        return set_caching(q, SERVE__TRACK_OPTIN, "YES", "OPTIN");
    if (serve__is(&q->argv[2], "no"))
        return set_caching(q, SERVE__TRACK_OPTOUT, "NO", "OPTOUT");
    return SERVE__E_SYNTAX;
}

int64_t serve__tracking_redirect(const struct serve__conn *c)
{
    return c->flags & SERVE__CONN_TRACKING ? (int64_t)c->tracking->redirect : -1;
}

int serve__cmd_client_getredir(struct serve__call *q)
{
    return serve__integer(q, serve__tracking_redirect(q->c));
}

static void answer_flags(struct serve__call *q)
{
    const struct serve__conn *c = q->c;
    unsigned how = c->tracking != NULL ? c->tracking->how : 0;
    bool on = c->flags & SERVE__CONN_TRACKING, caching = how & SERVE__TRACK_CACHING;
    bool in = how & SERVE__TRACK_OPTIN, out = how & SERVE__TRACK_OPTOUT;
    const char *words[] = {on ? "on" : "off",
                           c->flags & SERVE__CONN_BCAST ? "bcast" : NULL,
                           in ? "optin" : NULL,
                           in && caching ? "caching-yes" : NULL,
                           out ? "optout" : NULL,
                           out && caching ? "caching-no" : NULL,
                           how & SERVE__TRACK_NOLOOP ? "noloop" : NULL,
                           c->flags & SERVE__CONN_BROKEN ? "broken_redirect" : NULL};
    size_t place = serve__open(q), n = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i] != NULL) {
            serve__text(q, words[i]);
            n++;
        }
    serve__close_set(q, place, n);
}

int serve__cmd_client_trackinginfo(struct serve__call *q)
{
    caret_slice name;
    size_t n = 0;
    serve__map(q, 3);
    serve__text(q, "flags");
    answer_flags(q);
    serve__text(q, "redirect");
    serve__integer(q, serve__tracking_redirect(q->c));
    serve__text(q, "prefixes");
    size_t place = serve__open(q);
    for (uint32_t i = 0; (q->c->flags & SERVE__CONN_BCAST) && serve__prefix_at(i, q->c->tracking, &name); i++)
        if (name.data != NULL) {
            serve__bulk(q, name.data, name.len);
            n++;
        }
    return serve__close_array(q, place, n);
}
