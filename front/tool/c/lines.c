/*
 * lines.c - reading lines for the prompt, and stopping what it runs.
 *
 * On a terminal libedit (BSD licence: a tool linked with it may be passed on as it is) does the
 * editing.  Its own answer to Ctrl-C, a signal in the middle of its read(), would make it read
 * again; so while a line is edited the terminal sends no signals, and Ctrl-C and Ctrl-Z are keys with functions of
 * ours.
 * While Lua code runs it is SIGINT: the handler has Lua call a hook, which raises an error, as
 * lua(1) does, and leaves the next SIGINT to end the process, should the code be stuck.  A wait for a lock ends
 * with INTERRUPTED.  The handler is there from open() to close(), and only on a terminal.
 *
 *   open(complete [, history]) -> is it a terminal?  complete(text before the cursor) -> text to insert,
 *                              possible words; history: path of a file, made with its folders
 *   read(prompt) -> line | nil at the end | nil, "interrupt"
 *   remember(line)             into the history
 *   call(f, ...)               as xpcall with a traceback, and to be stopped by Ctrl-C
 *   close()
 */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <histedit.h>

#include <lauxlib.h>
#include <lua.h>

#include "lua/interrupt.h"
#include "tool/c/host.h"
#include "tool/c/lines.h"

#define HISTORY_LINES 1000

static struct {
    lua_State *running; /* whose code SIGINT stops */
    volatile sig_atomic_t stopped;
    int terminal;
    int guarded;             /* without a terminal, too, SIGINT stops what is running */
    struct sigaction before; /* what SIGINT did before open() */
    char prompt[80];
    char history[4096];
    EditLine *el;
    History *past;
    lua_State *L; /* while a line is read: for completion */
} lines;

static char complete_key; /* its address is the key of complete() in the registry */

/* ------------------------------------------------------------------- Ctrl-C */

static void raise_interrupt(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted");
}

static void on_sigint(int signal_number)
{
    lines.stopped = 1;
    if (lines.running == NULL)
        return;
    signal(signal_number, SIG_DFL);
    lua_sethook(lines.running, raise_interrupt, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
    caret__lua_interrupt();
}

/* From now on SIGINT stops what is running, or nothing. */
static void arm(void)
{
    struct sigaction mine;

    memset(&mine, 0, sizeof mine);
    mine.sa_handler = on_sigint; /* no SA_RESTART: it ends a read() */
    sigemptyset(&mine.sa_mask);
    lines.stopped = 0;
    if (lines.terminal || lines.guarded)
        sigaction(SIGINT, &mine, NULL);
}

static int traceback(lua_State *L)
{
    const char *text = luaL_tolstring(L, 1, NULL);

    if (lines.stopped || lua_type(L, 1) != LUA_TSTRING)
        return 1; /* the object's own words are enough */
    luaL_traceback(L, L, text, 1);
    return 1;
}

/* call(f, ...) -> true, results | false, text */
static int lines_call(lua_State *L)
{
    lua_pushcfunction(L, traceback);
    lua_insert(L, 1);
    arm();
    lines.running = L;
    int rc = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 1);
    lines.running = NULL;
    arm();
    lua_sethook(L, NULL, 0, 0);
    if (caret__interrupted != 0)
        return caret__host_stop(L);
    lua_pushboolean(L, rc == LUA_OK);
    lua_replace(L, 1);
    return lua_gettop(L);
}

/* -------------------------------------------------------------- plain lines */

/* Push the next line of standard input without its end; what was typed before an interrupt is dropped. */
static int read_plain(lua_State *L)
{
    char *line = NULL;
    size_t room = 0;

    lines.stopped = 0;
    if (lines.terminal) {
        fputs(lines.prompt, stdout);
        fflush(stdout);
    }
    ssize_t len = getline(&line, &room, stdin);
    if (len >= 0) {
        lua_pushlstring(L, line, (size_t)len - (len > 0 && line[len - 1] == '\n'));
        free(line);
        return 1;
    }
    free(line);
    clearerr(stdin);
    lua_pushnil(L);
    if (!lines.terminal || !lines.stopped)
        return 1;
    lua_pushliteral(L, "interrupt");
    return 2;
}

/* ------------------------------------------------------------ edited lines */

static char *prompt(EditLine *el)
{
    (void)el;
    return lines.prompt;
}

/* Ctrl-C: the line is over and does not count. */
static unsigned char stop_line(EditLine *el, int key)
{
    (void)el, (void)key;
    lines.stopped = 1;
    return CC_NEWLINE;
}

/* Ctrl-Z: what the terminal would have done. */
static unsigned char suspend(EditLine *el, int key)
{
    (void)key;
    el_set(el, EL_PREP_TERM, 0);
    kill(0, SIGTSTP);
    el_set(el, EL_PREP_TERM, 1);
    return CC_REDISPLAY;
}

/* The words of the table on top of L, in columns. */
static void print_words(lua_State *L)
{
    size_t count = lua_rawlen(L, -1), widest = 1, len;

    for (size_t i = 1; i <= count; i++, lua_pop(L, 1)) {
        lua_rawgeti(L, -1, (lua_Integer)i);
        luaL_tolstring(L, -1, &len);
        lua_pop(L, 1);
        widest = len > widest ? len : widest;
    }
    size_t columns = widest > 76 ? 1 : 78 / (widest + 2);
    for (size_t i = 1; i <= count; i++, lua_pop(L, 1)) {
        lua_rawgeti(L, -1, (lua_Integer)i);
        printf("%s%-*s", i % columns == 1 % columns ? "\n" : "", (int)widest + 2, lua_tostring(L, -1));
    }
    putchar('\n');
    fflush(stdout);
}

/* Tab: complete(text before the cursor). */
static unsigned char complete(EditLine *el, int key)
{
    const LineInfo *at = el_line(el);
    lua_State *L = lines.L;
    unsigned char answer = CC_REFRESH_BEEP;

    (void)key;
    lua_pushlightuserdata(L, &complete_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_pushlstring(L, at->buffer, (size_t)(at->cursor - at->buffer));
    if (lua_pcall(L, 1, 2, 0) != LUA_OK) {
        lua_pop(L, 1);
        return CC_ERROR;
    }
    size_t len;
    const char *insert = lua_tolstring(L, -2, &len);
    if (insert != NULL && len != 0) {
        answer = el_insertstr(el, insert) == 0 ? CC_REFRESH : CC_ERROR;
    } else if (lua_istable(L, -1) && lua_rawlen(L, -1) > 1) {
        print_words(L);
        answer = CC_REDISPLAY;
    }
    lua_pop(L, 2);
    return answer;
}

static int start_editing(void)
{
    HistEvent event;

    if (setlocale(LC_CTYPE, "") == NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8"); /* so that what is typed is edited by character */
    lines.el = el_init("caret", stdin, stdout, stderr);
    lines.past = history_init();
    if (lines.el == NULL || lines.past == NULL)
        return 0;
    history(lines.past, &event, H_SETSIZE, HISTORY_LINES);
    history(lines.past, &event, H_SETUNIQUE, 1);
    if (*lines.history != 0)
        history(lines.past, &event, H_LOAD, lines.history);
    el_set(lines.el, EL_PROMPT, prompt);
    el_set(lines.el, EL_EDITOR, "emacs");
    el_set(lines.el, EL_HIST, history, lines.past);
    el_set(lines.el, EL_ADDFN, "caret-complete", "Complete a name", complete);
    el_set(lines.el, EL_ADDFN, "caret-stop", "Drop the line", stop_line);
    el_set(lines.el, EL_ADDFN, "caret-suspend", "Stop the process", suspend);
    el_set(lines.el, EL_BIND, "^I", "caret-complete", NULL);
    el_set(lines.el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(lines.el, EL_SETTY, "-d", "-isig", NULL); /* no signals while a line is edited: */
    el_set(lines.el, EL_BIND, "^C", "caret-stop", NULL);
    el_set(lines.el, EL_BIND, "^Z", "caret-suspend", NULL);
    el_source(lines.el, NULL); /* ~/.editrc */
    return 1;
}

static int read_edited(lua_State *L)
{
    int len;

    lines.L = L;
    lines.stopped = 0;
    /* libedit itself leaves the line mode only after it showed the prompt: a Ctrl-D between the two would be lost. */
    el_set(lines.el, EL_PREP_TERM, 1);
    const char *line = el_gets(lines.el, &len);
    lines.L = NULL;
    if (lines.stopped) {
        lua_pushnil(L);
        lua_pushliteral(L, "interrupt");
        return 2;
    }
    if (line == NULL || len <= 0) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushlstring(L, line, (size_t)len - (line[len - 1] == '\n'));
    return 1;
}

/* ------------------------------------------------------------------- module */

/* Make the file, readable for its owner only, and the folders it is in. */
static void make_file(const char *path)
{
    char folder[sizeof lines.history];

    if (strlen(path) >= sizeof folder)
        return;
    for (const char *p = path; (p = strchr(p + 1, '/')) != NULL;) {
        memcpy(folder, path, (size_t)(p - path));
        folder[p - path] = 0;
        mkdir(folder, 0700);
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return; /* then there is no history */
    if (fchmod(fd, 0600) == 0)
        strcpy(lines.history, path);
    close(fd);
}

static int lines_open(lua_State *L)
{
    const char *path = luaL_optstring(L, 2, NULL);

    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_pushlightuserdata(L, &complete_key);
    lua_pushvalue(L, 1);
    lua_rawset(L, LUA_REGISTRYINDEX);
    lines.terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    sigaction(SIGINT, NULL, &lines.before);
    arm();
    if (lines.terminal && path != NULL)
        make_file(path);
    if (lines.terminal && !start_editing())
        lines.el = NULL;
    lua_pushboolean(L, lines.terminal);
    return 1;
}

/* guard(): lines come from elsewhere, and SIGINT stops what is running all the same */
static int lines_guard(lua_State *L)
{
    (void)L;
    lines.guarded = 1;
    sigaction(SIGINT, NULL, &lines.before);
    arm();
    return 0;
}

static int lines_read(lua_State *L)
{
    snprintf(lines.prompt, sizeof lines.prompt, "%s", luaL_checkstring(L, 1));
    if (lines.el != NULL)
        return read_edited(L);
    return read_plain(L);
}

static int lines_remember(lua_State *L)
{
    const char *line = luaL_checkstring(L, 1);
    HistEvent event;
    if (lines.el != NULL && strspn(line, " \t") != strlen(line)) {
        history(lines.past, &event, H_ENTER, line);
        if (*lines.history != 0)
            history(lines.past, &event, H_SAVE, lines.history);
    }
    return 0;
}

static int lines_close(lua_State *L)
{
    (void)L;
    if (lines.terminal)
        sigaction(SIGINT, &lines.before, NULL);
    if (lines.past != NULL)
        history_end(lines.past);
    if (lines.el != NULL)
        el_end(lines.el);
    lines.past = NULL;
    lines.el = NULL;
    return 0;
}

int caret__open_lines(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"open", lines_open}, {"guard", lines_guard}, {"read", lines_read}, {"remember", lines_remember},
        {"call", lines_call}, {"close", lines_close}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
