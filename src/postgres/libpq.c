/*
 * libpq.c - load libpq.so.5 and find its functions.
 *
 * Once in a process, by whichever thread opens an address first (pthread_once); all others wait for it and then see
 * the table complete, or the same error.  It is never unloaded: libpq and what it uses keep things that end with the
 * process.
 */
#include "postgres/libpq.h"

#include <dlfcn.h>
#include <pthread.h>

#include "base/bytes.h"
#include "base/error.h"

struct caret__libpq caret__pq;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *missing; /* NULL: all is there */

static const struct {
    const char *name;
    size_t off;
} functions[] = {
#define F(field, name)                                                                                       \
    {                                                                                                        \
        name, offsetof(struct caret__libpq, field)                                                           \
    }
    F(start, "PQconnectStartParams"),
    F(step, "PQconnectPoll"),
    F(finish, "PQfinish"),
    F(options, "PQconninfo"),
    F(parse, "PQconninfoParse"),
    F(options_done, "PQconninfoFree"),
    F(host, "PQhost"),
    F(port, "PQport"),
    F(status, "PQstatus"),
    F(message, "PQerrorMessage"),
    F(socket, "PQsocket"),
    F(backend, "PQbackendPID"),
    F(version, "PQserverVersion"),
    F(parameter, "PQparameterStatus"),
    F(notices, "PQsetNoticeReceiver"),
    F(pipeline, "PQenterPipelineMode"),
    F(no_pipeline, "PQexitPipelineMode"),
    F(nonblocking, "PQsetnonblocking"),
    F(uses_tls, "PQsslInUse"),
    F(uses_gss, "PQgssEncInUse"),
    F(sync, "PQpipelineSync"),
    F(flush, "PQflush"),
    F(consume, "PQconsumeInput"),
    F(busy, "PQisBusy"),
    F(prepare, "PQsendPrepare"),
    F(send, "PQsendQueryParams"),
    F(send_prepared, "PQsendQueryPrepared"),
    F(result, "PQgetResult"),
    F(result_status, "PQresultStatus"),
    F(field, "PQresultErrorField"),
    F(result_message, "PQresultErrorMessage"),
    F(rows, "PQntuples"),
    F(value, "PQgetvalue"),
    F(length, "PQgetlength"),
    F(is_null, "PQgetisnull"),
    F(changed, "PQcmdTuples"),
    F(clear, "PQclear"),
    F(cancel_of, "PQgetCancel"),
    F(cancel, "PQcancel"),
    F(cancel_done, "PQfreeCancel"),
    F(library, "PQlibVersion"),
#undef F
};

_Static_assert(sizeof functions / sizeof functions[0] == sizeof(struct caret__libpq) / sizeof(void (*)(void)),
               "each function has its line");

static void load(void)
{
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (library == NULL) {
        missing = "libpq.so.5 is not installed (Debian: apt install libpq5)";
        return;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *f = dlsym(library, functions[i].name);
        if (f == NULL) {
            missing = "libpq.so.5 is older than that of PostgreSQL 14";
            return;
        }
        memcpy((char *)&caret__pq + functions[i].off, &f, sizeof f);
    }
}

int caret__libpq_load(void)
{
    pthread_once(&once, load);
    return missing == NULL ? CARET_OK : caret__fail(CARET_E_OPEN, "%s", missing);
}

/* Its pipelines lost their place when Sync itself failed until 14.11, 15.6 and 16.2. */
int caret__libpq_minds_sync(void)
{
    int v = caret__pq.library();

    return v >= 160002 || (v >= 150006 && v < 160000) || (v >= 140011 && v < 150000);
}
