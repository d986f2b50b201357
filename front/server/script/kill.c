/*
 * kill.c - ending a script that runs: SCRIPT KILL, and the end of the worker.
 *
 * The watcher (handoff.h) sends a signal to the thread of the script, each millisecond:
 *
 *     at first        the handler sets a hook, which raises an error that nothing catches.  Lua calls it at the
 *                     next instruction that it interprets; commands look at `killed` themselves
 *     after 50 ms     the script may be in machine code, which looks at no hook (LuaJIT is built so), or in a
 *                     search that takes years: the handler jumps out of it, if the thread is in Lua, and the signal
 *                     came in LuaJIT's code, in code that it made, or in a function of the C library that one of
 *                     these called and that has nothing on the stack (memcpy() of a long string).  It can't hold a
 *                     lock of the C library there, nor anything of the worker.  The Lua state is lost, with its
 *                     memory
 *     after ten seconds in Lua  the watcher ends the worker
 *
 * ThreadSanitizer hands a signal on when the thread calls the C library, so code that calls nothing comes to the last
 * of these there.
 *
 * What was told to end makes nobody BUSY any more: that it has ended may take a while on a machine that has no time.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "server/dispatch.h"
#include "server/script/script.h"
#include "server/worker.h"

enum { SIGNAL = SIGUSR2, JUMP_MS = 50, MAPS = 4096 };

static _Thread_local struct serve__scripts *volatile running;

bool serve__script_is_killed(const struct serve__scripts *x)
{
    return atomic_load_explicit(&x->killed, memory_order_relaxed);
}

/* In the script's thread: the run is over. */
void serve__script_not_killed(struct serve__scripts *x)
{
    sigset_t set;
    running = NULL;
    if (!serve__script_is_killed(x))
        return;
    atomic_store(&x->killed, false);
    x->run.w->shared->late[x->run.w->index].kill = 0; /* EXEC may run others with this number */
    atomic_store(&x->jumps, false);
    if (x->L != NULL)
        lua_sethook(x->L, NULL, 0, 0);
    sigemptyset(&set); /* it is blocked if the handler jumped */
    sigaddset(&set, SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void raise_end(lua_State *L, lua_Debug *at)
{
    static const char text[] = "ERR Script killed by user with SCRIPT KILL...";
    (void)at;
    serve__script_push_error(L, text, sizeof text - 1, false);
    lua_error(L);
}

/* ---------------------------------------------------------------- jumping */

static uintptr_t hex(const char **at)
{
    uintptr_t n = 0;
    for (;; ++*at) {
        char c = **at;
        if (c >= '0' && c <= '9')
            n = n * 16 + (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            n = n * 16 + (uintptr_t)(c - 'a' + 10);
        else
            return n;
    }
}

enum { ELSEWHERE, IN_LUA, IN_LIBC };

/* Where is the address, by a line of /proc/self/maps: "from-to rwxp offset device inode path"?  LuaJIT, and code that
 * it made, which has no path. */
static int place_by(const char *line, uintptr_t pc)
{
    const char *at = line;
    uintptr_t from = hex(&at), to = (at++, hex(&at));
    if (pc < from || pc >= to || at[3] != 'x')
        return ELSEWHERE;
    if (strstr(line, "luajit") != NULL || (strchr(line, '/') == NULL && strchr(line, '[') == NULL))
        return IN_LUA;
    return strstr(line, "/libc.so") != NULL || strstr(line, "/libc-") != NULL ? IN_LIBC : ELSEWHERE;
}

/* For a signal handler. */
static int place_of(uintptr_t pc)
{
    char text[MAPS + 1];
    size_t n = 0;
    ssize_t more;
    int found = ELSEWHERE;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return found;
    while (found == ELSEWHERE && (more = read(fd, text + n, MAPS - n)) > 0) {
        char *line = text, *end;
        n += (size_t)more;
        text[n] = 0;
        for (; found == ELSEWHERE && (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = 0;
            found = place_by(line, pc);
        }
        n = (size_t)(text + n - line);
        memmove(text, line, n);
    }
    close(fd);
    return found;
}

static uintptr_t program_counter(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0; /* a worker that can't end a script ends itself */
#endif
}

/* Where a function returns to that has nothing on the stack. */
static uintptr_t return_address(const ucontext_t *context)
{
#if defined(__x86_64__)
    return *(const uintptr_t *)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.regs[30];
#else
    (void)context;
    return 0;
#endif
}

static bool may_jump(const ucontext_t *context)
{
    int place = place_of(program_counter(context));
    return place == IN_LUA || (place == IN_LIBC && place_of(return_address(context)) == IN_LUA);
}

static void handler(int signal, siginfo_t *info, void *context)
{
    struct serve__scripts *x = running;
    int was = errno;
    (void)signal;
    (void)info;
    if (x == NULL || !serve__script_is_killed(x) || x->L == NULL)
        return;
    lua_sethook(x->L, raise_end, LUA_MASKCOUNT, 1); /* may be called at any time, says its manual */
    if (atomic_load(&x->jumps) && atomic_load(&x->lease.in_lua) && may_jump(context))
        siglongjmp(x->out, 1);
    errno = was;
}

void serve__script_end(struct serve__lease *l, int ms)
{
    struct serve__scripts *x = (struct serve__scripts *)((char *)l - offsetof(struct serve__scripts, lease));
    atomic_store(&x->killed, true);
    if (ms >= JUMP_MS)
        atomic_store(&x->jumps, true);
    pthread_kill(l->thread, SIGNAL);
}

void serve__script_killable(struct serve__scripts *x)
{
    static atomic_bool ready;
    if (!atomic_load_explicit(&ready, memory_order_relaxed)) {
        struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
        sigaction(SIGNAL, &action, NULL);
        atomic_store(&ready, true);
    }
    running = x;
}

/* --------------------------------------------------------------- commands */

/* A run that a worker says to be late, as it was at one moment. */
struct seen {
    struct serve__late *late; /* NULL: none */
    uint64_t since, number;
    bool function, wrote;
};

/* handoff.c writes `since` last, and takes it away before it says another run. */
static struct seen see(struct serve__late *late)
{
    struct seen s;
    do {
        s.late = late;
        s.number = late->number;
        s.function = late->function;
        s.wrote = late->wrote;
        s.since = late->since;
    } while (late->number != s.number);
    return s;
}

/* The script of all workers that runs for longest. */
static struct seen longest(struct serve__worker *w)
{
    struct seen found = {0};
    for (int i = 0; i < w->shared->nworkers; i++) {
        struct seen s = see(&w->shared->late[i]);
        if (s.since != 0 && (found.late == NULL || s.since < found.since))
            found = s;
    }
    return found;
}

/* Does the server do as Redis does while a script takes long?  That is asked for by another value of
 * busy-reply-threshold than the usual one. */
static bool is_busy(struct serve__worker *w, const struct seen *s)
{
    int64_t threshold = w->config.n[SERVE__CFG_busy_reply_threshold];
    return threshold != SERVE__BUSY_USUAL && s->late != NULL && s->late->kill != s->number &&
           w->now - (int64_t)s->since > threshold;
}

bool serve__busy_refuses(struct serve__call *q)
{
    if (q->w->config.n[SERVE__CFG_busy_reply_threshold] == SERVE__BUSY_USUAL)
        return false;
    struct seen s = longest(q->w);
    if (!is_busy(q->w, &s))
        return false;
    if (q->cmd->flags & SERVE__ALLOW_BUSY) {
        if (!serve__is(&q->argv[0], q->argc > 1 ? s.function ? "script" : "function" : ""))
            return false;
        if (!serve__is(&q->argv[1], "kill"))
            return false;
    }
    serve__reject(q, "BUSY Redis is busy running a script. You can only call %s KILL or SHUTDOWN NOSAVE.",
                  s.function ? "FUNCTION" : "SCRIPT");
    return true;
}

static int kill_longest(struct serve__call *q, bool function)
{
    struct seen s = longest(q->w);
    if (s.late == NULL || s.function != function)
        return serve__fail(q, "NOTBUSY No scripts in execution right now.");
    if (s.wrote && is_busy(q->w, &s))
        return serve__fail(
            q, "UNKILLABLE Sorry the script already executed write commands against the dataset. "
               "You can either wait the script termination or kill the server in a hard way using "
               "the SHUTDOWN NOSAVE command.");
    s.late->kill = s.number;
    return serve__ok(q);
}

int serve__cmd_script_kill(struct serve__call *q)
{
    return kill_longest(q, false);
}

int serve__cmd_function_kill(struct serve__call *q)
{
    return kill_longest(q, true);
}

/* Its name, arguments and duration, as FUNCTION STATS has them. */
void serve__script_running(struct serve__call *q)
{
    struct seen s = longest(q->w);
    struct serve__late *late = s.late;
    size_t n = 0;
    if (late == NULL) {
        serve__null(q);
        return;
    }
    serve__shared_lock(q->w->shared);
    serve__map(q, 3);
    serve__text(q, "name");
    serve__text(q, late->name);
    serve__text(q, "command");
    serve__array(q, (size_t)late->argc);
    for (int i = 0; i < late->argc; i++) {
        uint32_t len;
        memcpy(&len, late->argv + n, 4);
        serve__bulk(q, late->argv + n + 4, len);
        n += 4 + len;
    }
    serve__text(q, "duration_ms");
    serve__integer(q, serve__now() - (int64_t)s.since);
    serve__shared_unlock(q->w->shared);
}
