/*
 * asks.c - questions to libyottadb.so, one answer a line; asks.lua asks the module yottadb the same (test/run/m.sh).
 *
 * `constants` and `names` are put before this text.
 */
static const char *value(const char *name)
{
    static char room[5000];
    ydb_buffer_t v = b(name), ret = {sizeof room - 1, 0, room};
    int rc = ydb_get_s(&v, 0, NULL, &ret);

    if (rc != YDB_OK)
        ydb_zstatus(room, sizeof room);
    else
        room[ret.len_used] = '\0';
    return room;
}

static void set(const char *name, const char *text)
{
    ydb_buffer_t v = b(name), value = b(text);

    ydb_set_s(&v, 0, NULL, &value);
}

/* ---------------------------------------------------------------------- errors */

static void ask_errors(void)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        char room[YDB_MAX_ERRORMSG];
        ydb_buffer_t ret = {sizeof room - 1, 0, room};
        bool is_error = strncmp(constants[i].name, "YDB_ERR_", 8) == 0;
        if (is_error && ydb_message((int)constants[i].value, &ret) != YDB_OK)
            strcpy(room, "no text");
        room[ret.len_used] = '\0';
        printf("%s %lld %s\n", constants[i].name, constants[i].value, is_error ? room : "");
    }
}

/* --------------------------------------------------------------------- special */

/* What differs from one process, or moment, to another. */
static bool is_steady(const char *name)
{
    static const char *const begins[] = {"$H", "$h", "$J", "$j", "$ZH", "$zh", "$ZU", "$zu"};

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return false;
    return true;
}

static void tell(const char *name, const char *what, int rc)
{
    char text[YDB_MAX_ERRORMSG] = "";

    if (rc != YDB_OK)
        ydb_zstatus(text, sizeof text);
    printf("%s %s: %s\n", name, what, text);
}

static void ask_special(void)
{
    static const char *const seconds[] = {"7", "7abc", "1E2", "2.9", "-1", "", "x", "99999999999"};
    char room[100];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ydb_buffer_t v = b(names[i]), sub = b("1"), ret = {sizeof room, 0, room};
        unsigned data;
        const char *is = value(names[i]);
        printf("%s=%s\n", names[i],
               is_steady(names[i]) || is[0] == '1' ? (strlen(is) > 17 ? is : "...") : "...");
        tell(names[i], "with a subscript", ydb_get_s(&v, 1, &sub, &ret));
        tell(names[i], "data", ydb_data_s(&v, 0, NULL, &data));
        tell(names[i], "incr", ydb_incr_s(&v, 0, NULL, NULL, &ret));
        tell(names[i], "kill", ydb_delete_s(&v, 0, NULL, YDB_DEL_TREE));
        if (strncmp(names[i], "$ZG", 3) != 0 && strncmp(names[i], "$zg", 3) != 0)
            tell(names[i], "set", ydb_set_s(&v, 0, NULL, &sub));
    }
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        set("$ZMAXTPTI", seconds[i]);
        printf("%s is %s seconds\n", seconds[i], value("$ZMAXTPTIME"));
    }
    set("$zstatus", "mine");
    printf("%s\n", value("$ZS"));
}

/* ---------------------------------------------------------------- transactions */

static int runs, plan;

static void where(const char *what)
{
    printf("%d %s: level %s", plan, what, value("$TLEVEL"));
    printf(" restarts %s", value("$TRESTART"));
    printf(" a=%s", value("a"));
    printf(" b=%s\n", value("b"));
}

static int inner(void *arg)
{
    static const int said[] = {YDB_OK, YDB_TP_ROLLBACK, YDB_TP_RESTART, YDB_TP_RESTART};
    int what = said[plan % 4];

    (void)arg;
    where("inner");
    set("a", "3");
    set("b", "3");
    return runs > 1 ? YDB_OK : what;
}

static int outer(void *arg)
{
    ydb_buffer_t list[2] = {b(plan & 4 ? "*" : "b"), b("b")};

    (void)arg;
    runs++;
    where("outer");
    set("a", "2");
    set("b", "2");
    int rc = ydb_tp_s(inner, NULL, "", plan & 8 ? 1 : 0, list);
    printf("%d inner gave %d\n", plan, rc);
    if (rc == YDB_TP_RESTART)
        return rc;
    where("afterwards");
    return plan & 16 ? (runs == 1 ? YDB_TP_RESTART : YDB_TP_ROLLBACK) : YDB_OK;
}

static void ask_transactions(void)
{
    ydb_buffer_t list[1] = {b("a")};

    for (plan = 0; plan < 64; plan++) {
        runs = 0;
        set("a", "1");
        set("b", "1");
        if (plan % 4 == 3) /* it had no value */
            ydb_delete_s(&(ydb_buffer_t){1, 1, (char[]){"b"}}, 0, NULL, YDB_DEL_TREE);
        int rc = ydb_tp_s(outer, NULL, "", plan & 32 ? 1 : 0, list);
        printf("%d outer gave %d in %d runs\n", plan, rc, runs);
        where("end");
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (what[0] == '$')
        printf("%s\n", value(what));
    else if (strcmp(what, "errors") == 0)
        ask_errors();
    else if (strcmp(what, "special") == 0)
        ask_special();
    else
        ask_transactions();
    return ydb_exit();
}
