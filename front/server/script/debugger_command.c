/*
 * debugger_command.c - what the client of a script that has stopped may say: debugger.h.
 */
#include <stdlib.h>
#include <strings.h>

#include "server/script/debugger.h"

enum { AROUND = 5, WHOLE = 1000000 };

/* ------------------------------------------------------------ source lines */

bool serve__debugger_has_point(const struct serve__debugger *d, int line)
{
    for (int i = 0; i < d->npoints; i++)
        if (d->points[i] == line)
            return true;
    return false;
}

void serve__debugger_say_line(struct serve__debugger *d, int line)
{
    static const caret_slice none = {"<out of range source code line>", 31};
    bool known = line > 0 && line <= d->nsource, here = line == d->line,
         point = serve__debugger_has_point(d, line);
    const caret_slice *text = known ? &d->source[line - 1] : &none;
    serve__buffer_print(&d->text, "%s%s%-3d ", here ? "->" : "  ", point ? "#" : " ", line);
    serve__buffer_add(&d->text, text->data, strnlen(text->data, text->len));
    serve__debugger_say_whole(d);
}

static void say_lines(struct serve__debugger *d, int around, int context)
{
    for (int line = 1; line <= d->nsource; line++)
        if (around - context <= line && around + context >= line)
            serve__debugger_say_line(d, line);
}

/* As atoi(), within what can be added to. */
static int number(const caret_slice *text)
{
    long n = strtol(text->data, NULL, 10);
    return n > WHOLE ? WHOLE : n < -WHOLE ? -WHOLE : (int)n;
}

static bool list(struct serve__debugger *d, lua_State *L)
{
    (void)L;
    int around = d->argc > 1 ? number(&d->argv[1]) : 0;
    say_lines(d, around > 0 ? around : d->line, d->argc > 2 ? number(&d->argv[2]) : AROUND);
    return false;
}

static bool whole(struct serve__debugger *d, lua_State *L)
{
    (void)L;
    say_lines(d, 1, WHOLE);
    return false;
}

/* ------------------------------------------------------------ break points */

static void add_point(struct serve__debugger *d, int64_t line)
{
    bool valid = line <= d->nsource;
    if (d->npoints == SERVE__DEBUGGER_POINTS) {
        serve__debugger_say(d, "Too many breakpoints set.");
    } else if (!valid) {
        serve__debugger_say(d, "Wrong line number.");
    } else {
        d->points[d->npoints++] = (int)line;
        say_lines(d, (int)line, 1);
    }
}

static void remove_point(struct serve__debugger *d, int64_t line)
{
    int i = 0;
    while (i < d->npoints && d->points[i] != line)
        i++;
    bool found = i < d->npoints;
    for (; i + 1 < d->npoints; i++)
        d->points[i] = d->points[i + 1];
    d->npoints -= found;
    serve__debugger_say(d, found ? "Breakpoint removed." : "No breakpoint in the specified line.");
}

static void change_point(struct serve__debugger *d, const caret_slice *arg)
{
    int64_t line;
    if (!serve__read_integer(arg, &line)) {
        serve__debugger_say(d, "Invalid argument:'%s'", arg->data);
    } else if (line > 0) {
        add_point(d, line);
    } else if (line < 0) {
        remove_point(d, -line);
    } else {
        d->npoints = 0;
        serve__debugger_say(d, "All breakpoints removed.");
    }
}

static bool points(struct serve__debugger *d, lua_State *L)
{
    (void)L;
    for (int i = 1; i < d->argc; i++)
        change_point(d, &d->argv[i]);
    if (d->argc > 1)
        return false;
    if (d->npoints == 0)
        serve__debugger_say(d, "No breakpoints set. Use 'b <line>' to add one.");
    else
        serve__debugger_say(d, "%i breakpoints set:", d->npoints);
    for (int i = 0; i < d->npoints; i++)
        serve__debugger_say_line(d, d->points[i]);
    return false;
}

/* ----------------------------------------------------- the stack, variables */

static bool trace(struct serve__debugger *d, lua_State *L)
{
    lua_Debug at, below;
    for (int level = 0; lua_getstack(L, level, &at); level++) {
        lua_getinfo(L, "Snl", &at);
        if (strstr(at.short_src, "user_script") == NULL)
            continue;
        bool top = at.name == NULL || *at.what == 'm' || !lua_getstack(L, level + 1, &below);
        serve__debugger_say(d, "%s %s:", level == 0 ? "In" : "From", top ? "top level" : at.name);
        serve__debugger_say_line(d, at.currentline);
    }
    return false;
}

/* The value on top of the stack, which is taken off. */
static void say_value(struct serve__debugger *d, lua_State *L, const char *before)
{
    serve__buffer_print(&d->text, "%s", before);
    serve__debugger_show(&d->text, L, lua_gettop(L), 0);
    serve__debugger_say_text(d);
    lua_pop(L, 1);
}

/* Push the local variable; false: there is none. */
static bool push_local(lua_State *L, const char *wanted)
{
    lua_Debug at;
    const char *name;
    for (int level = 0; lua_getstack(L, level, &at); level++)
        for (int i = 1; (name = lua_getlocal(L, &at, i)) != NULL; i++) {
            if (strcmp(name, wanted) == 0)
                return true;
            lua_pop(L, 1);
        }
    return false;
}

static void print_one(struct serve__debugger *d, lua_State *L, const char *name)
{
    bool keys = strcmp(name, "KEYS") == 0;
    if (push_local(L, name)) {
        say_value(d, L, "<value> ");
    } else if (keys || strcmp(name, "ARGV") == 0) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, keys ? d->x->keys : d->x->argv);
        say_value(d, L, "<value> ");
    } else {
        serve__debugger_say(d, "No such variable.");
    }
}

static void print_all(struct serve__debugger *d, lua_State *L)
{
    lua_Debug at;
    const char *name;
    int said = 0;
    bool known = lua_getstack(L, 0, &at);
    for (int i = 1; known && (name = lua_getlocal(L, &at, i)) != NULL; i++) {
        if (strstr(name, "(*temporary)") != NULL) {
            lua_pop(L, 1);
            continue;
        }
        serve__buffer_print(&d->text, "<value> %s = ", name);
        say_value(d, L, "");
        said++;
    }
    if (said == 0)
        serve__debugger_say(d, "No local variables in the current context.");
}

static bool print(struct serve__debugger *d, lua_State *L)
{
    if (!lua_checkstack(L, 8))
        return false;
    if (d->argc == 2)
        print_one(d, L, d->argv[1].data);
    else
        print_all(d, L);
    return false;
}

static bool maxlen(struct serve__debugger *d, lua_State *L)
{
    (void)L;
    if (d->argc == 2) {
        int n = number(&d->argv[1]);
        d->hinted = true;
        d->maxlen = n != 0 && n <= SERVE__DEBUGGER_MAXLEN_LEAST ? SERVE__DEBUGGER_MAXLEN_LEAST : n;
    }
    if (d->maxlen != 0)
        serve__debugger_say(d, "<value> replies are truncated at %d bytes.", d->maxlen);
    else
        serve__debugger_say(d, "<value> replies are unlimited.");
    return false;
}

/* ------------------------------------------------------------ Lua, commands */

static void say_error(struct serve__debugger *d, lua_State *L)
{
    const char *text = lua_tostring(L, -1);
    serve__buffer_print(&d->text, "<error> %s", text != NULL ? text : "(null)");
    serve__debugger_say_whole(d);
    lua_pop(L, 1);
}

/* Push what was said as a function: as an expression, or if it is none as statements.  false: an error, instead.
 *   "return f()" would be a tail call, which leaves no frame of "ldb_eval" to tell the place of an error by. */
static bool push_code(struct serve__debugger *d, lua_State *L)
{
    static const char before[] = "local _ = ", after[] = "\nreturn _";
    struct serve__buffer code = {0};
    serve__buffer_add(&code, before, sizeof before - 1);
    for (int i = 1; i < d->argc; i++) {
        serve__buffer_add(&code, " ", i > 1);
        serve__buffer_add(&code, d->argv[i].data, d->argv[i].len);
    }
    serve__buffer_add(&code, after, sizeof after - 1);
    caret_slice all = {code.data, code.len},
                said = {code.data + sizeof before - 1, code.len - (sizeof before - 1) - (sizeof after - 1)};
    bool fine = !code.failed && serve__script_load(L, all, "@ldb_eval") == 0;
    if (!fine && !code.failed) {
        lua_pop(L, 1);
        fine = serve__script_load(L, said, "@ldb_eval") == 0;
    }
    serve__buffer_free(&code);
    return fine;
}

static bool eval(struct serve__debugger *d, lua_State *L)
{
    if (!lua_checkstack(L, 8))
        return false;
    if (!push_code(d, L) || lua_pcall(L, 0, 1, 0) != 0)
        say_error(d, L);
    else
        say_value(d, L, "<retval> ");
    return false;
}

static bool redis(struct serve__debugger *d, lua_State *L)
{
    int top = lua_gettop(L);
    if (!lua_checkstack(L, d->argc + 8)) {
        serve__debugger_say(d, "max lua stack reached");
        return false;
    }
    lua_getglobal(L, "redis");
    lua_getfield(L, -1, "call");
    for (int i = 1; i < d->argc; i++)
        lua_pushlstring(L, d->argv[i].data, d->argv[i].len);
    d->step = true; /* so that it is told */
    lua_pcall(L, d->argc - 1, 1, 0);
    d->step = false;
    lua_settop(L, top);
    return false;
}

/* --------------------------------------------------------- going on, others */

static bool step(struct serve__debugger *d, lua_State *L)
{
    (void)L;
    d->step = true;
    return true;
}

static bool go_on(struct serve__debugger *d, lua_State *L)
{
    (void)d;
    (void)L;
    return true;
}

static bool abort_script(struct serve__debugger *d, lua_State *L)
{
    static const char text[] = "ERR script aborted for user request";
    (void)d;
    serve__script_push_error(L, text, sizeof text - 1, false);
    return lua_error(L);
}

static bool help(struct serve__debugger *d, lua_State *L);

/* One letter will do for each. */
static const struct command {
    const char *name;
    bool (*run)(struct serve__debugger *d, lua_State *L); /* true: the script goes on */
    int least;                                            /* arguments, with the name */
} commands[] = {
    {"help", help, 1},          {"step", step, 1},   {"next", step, 1},    {"continue", go_on, 1},
    {"trace", trace, 1},        {"print", print, 1}, {"break", points, 1}, {"maxlen", maxlen, 1},
    {"eval", eval, 1},          {"redis", redis, 2}, {"list", list, 1},    {"whole", whole, 1},
    {"abort", abort_script, 1},
};

static bool help(struct serve__debugger *d, lua_State *L)
{
    static const char *const lines[] = {
        "Redis Lua debugger help:",
        "[h]elp               Show this help.",
        "[s]tep               Run current line and stop again.",
        "[n]ext               Alias for step.",
        "[c]ontinue           Run till next breakpoint.",
        "[l]ist               List source code around current line.",
        "[l]ist [line]        List source code around [line].",
        "                     line = 0 means: current position.",
        "[l]ist [line] [ctx]  In this form [ctx] specifies how many lines",
        "                     to show before/after [line].",
        "[w]hole              List all source code. Alias for 'list 1 1000000'.",
        "[p]rint              Show all the local variables.",
        "[p]rint <var>        Show the value of the specified variable.",
        "                     Can also show global vars KEYS and ARGV.",
        "[b]reak              Show all breakpoints.",
        "[b]reak <line>       Add a breakpoint to the specified line.",
        "[b]reak -<line>      Remove breakpoint from the specified line.",
        "[b]reak 0            Remove all breakpoints.",
        "[t]race              Show a backtrace.",
        "[e]val <code>        Execute some Lua code (in a different callframe).",
        "[r]edis <cmd>        Execute a Redis command.",
        "[m]axlen [len]       Trim logged Redis replies and Lua var dumps to len.",
        "                     Specifying zero as <len> means unlimited.",
        "[a]bort              Stop the execution of the script. In sync",
        "                     mode dataset changes will be retained.",
        "",
        "Debugger functions you can call from Lua scripts:",
        "redis.debug()        Produce logs in the debugger console.",
        "redis.breakpoint()   Stop execution like if there was a breakpoint in the",
        "                     next line of code.",
    };
    (void)L;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        serve__debugger_say(d, "%s", lines[i]);
    return false;
}

bool serve__debugger_command(struct serve__debugger *d, lua_State *L)
{
    const char *word = d->argv[0].data;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const struct command *k = &commands[i];
        bool letter = word[0] != 0 && word[1] == 0 && strncasecmp(word, k->name, 1) == 0;
        if (d->argc >= k->least && (letter || strcasecmp(word, k->name) == 0))
            return k->run(d, L);
    }
    serve__debugger_say(d, "<error> Unknown Redis Lua debugger command or wrong number of arguments.");
    return false;
}
