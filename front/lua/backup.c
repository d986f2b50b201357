/*
 * backup.c - db:backup(path[, options]) and restore(backup, path[, options]).
 *
 * The progress function is Lua called from inside the C interface, so an error in
 * it must not get out there: it is caught, stops the backup, and is raised on when
 * caret_backup() has cleaned up and returned.
 */
#include <string.h>

#include "lua/binding.h"

struct telling {
    lua_State *L;
    int fn;      /* index of the function */
    int failed;  /* what it raised is at that index now */
    double unit; /* of the second number it is told */
};

/* caret_backup_progress: false from the function, or an error, stops the backup */
static int tell(void *arg, uint64_t done, uint64_t total)
{
    struct telling *t = arg;
    lua_State *L = t->L;

    lua_pushvalue(L, t->fn);
    lua_pushnumber(L, (lua_Number)done);
    lua_pushnumber(L, (lua_Number)total / t->unit);
    t->failed = lua_pcall(L, 2, 1, 0) != 0;
    int stop = t->failed || (lua_isboolean(L, -1) && !lua_toboolean(L, -1));
    if (t->failed)
        lua_replace(L, t->fn);
    else
        lua_pop(L, 1);
    return stop;
}

/* The options at index 3; the progress function stays on the stack. */
static void read_options(lua_State *L, caret_backup_options *o, struct telling *t)
{
    static const char *const known[] = {"compact", "overwrite", "progress", NULL};

    if (!caret__check_options(L, 3, "backup", known))
        return;
    o->compact = caret__option_flag(L, 3, "compact", 0);
    o->overwrite = caret__option_flag(L, 3, "overwrite", 0);
    t->fn = caret__option_function(L, 3, "progress");
    if (t->fn != 0) {
        o->progress = tell;
        o->progress_arg = t;
    }
}

/* backup(db, path[, {compact, overwrite, progress}]) -> true | nil, text, name */
int caret__backup_to(lua_State *L)
{
    struct caret__ldb *d = caret__check_db(L, 1);
    caret_backup_options o = {.size = sizeof o};
    struct telling t = {.L = L, .unit = 1};
    const char *path = caret__check_path(L, 2, "the path of a backup");

    lua_settop(L, 3);
    read_options(L, &o, &t);
    int rc = caret_backup(d->db, path, &o);
    if (t.failed) {
        lua_settop(L, t.fn);
        return lua_error(L);
    }
    if (rc != CARET_OK)
        return caret__fail_values(L, rc);
    lua_pushboolean(L, 1);
    return 1;
}

static void read_restore_options(lua_State *L, caret_restore_options *o, struct telling *t)
{
    static const char *const known[] = {"archive", "lsn", "time", "any_fs", "progress", NULL};

    if (!caret__check_options(L, 3, "restore", known))
        return;
    o->archive = caret__option_path(L, 3, "archive");
    o->lsn = caret__option_place(L, 3, "lsn");
    o->time = (uint64_t)(caret__option_time(L, 3, "time") * 1e3) * 1000000u;
    o->any_fs = caret__option_flag(L, 3, "any_fs", 0);
    t->fn = caret__option_function(L, 3, "progress");
    if (t->fn != 0) {
        o->progress = tell;
        o->progress_arg = t;
    }
}

/* restore(backup, path[, {archive, lsn, time, any_fs, progress}]) -> place reached[, warning] | nil, text,
 * name; time in seconds since 1970; the warning tells that the archive ends before it. */
int caret__restore_from(lua_State *L)
{
    const char *backup = caret__check_path(L, 1, "the path of a backup");
    const char *path = caret__check_path(L, 2, "the path of the database to be made");
    caret_restore_options o = {.size = sizeof o};
    struct telling t = {.L = L, .unit = 1e9};
    uint64_t reached = 0;

    lua_settop(L, 3);
    read_restore_options(L, &o, &t);
    int rc = caret_restore(backup, path, &o, &reached);
    if (t.failed) {
        lua_settop(L, t.fn);
        return lua_error(L);
    }
    if (rc != CARET_OK && rc != CARET_NONE)
        return caret__fail_values(L, rc);
    lua_pushinteger(L, (lua_Integer)reached);
    if (rc == CARET_OK)
        return 1;
    lua_pushstring(L, caret_message());
    return 2;
}
