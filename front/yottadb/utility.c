/*
 * utility.c - what is not about nodes: memory, files, fork, calls with any number of arguments, and what there is no
 * need for, as Caret has no signal handlers and leaves stdout and stderr alone.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "yottadb/session.h"

/* Of functions that have nothing to do. */
static int nothing(void)
{
    struct caret__ydb_call c;

    return caret__ydb_begin(&c) ? caret__ydb_end(&c, YDB_OK) : c.status;
}

static int nothing_t(uint64_t tptoken, ydb_buffer_t *errstr)
{
    struct caret__ydb_call c;

    return caret__ydb_begin_st(&c, tptoken, errstr) ? caret__ydb_end_st(&c, YDB_OK) : c.status;
}

/* As ydb_exit(), it returns errors as positive numbers. */
int ydb_init(void)
{
    return -nothing();
}

int ydb_child_init(void *param)
{
    (void)param;
    return nothing();
}

int ydb_main_lang_init(int langid, void *parm)
{
    (void)langid;
    (void)parm;
    return nothing();
}

int ydb_eintr_handler(void)
{
    return nothing();
}

int ydb_eintr_handler_t(uint64_t tptoken, ydb_buffer_t *errstr)
{
    return nothing_t(tptoken, errstr);
}

int ydb_sig_dispatch(ydb_buffer_t *errstr, int signum)
{
    (void)signum;
    return nothing_t(YDB_NOTTP, errstr);
}

int ydb_stdout_stderr_adjust(void)
{
    return nothing();
}

int ydb_stdout_stderr_adjust_t(uint64_t tptoken, ydb_buffer_t *errstr)
{
    return nothing_t(tptoken, errstr);
}

int ydb_thread_is_main(void)
{
    return !caret__ydb_exiting() && syscall(SYS_gettid) == getpid() ? YDB_OK : YDB_NOTOK;
}

void *ydb_malloc(size_t size)
{
    return malloc(size != 0 ? size : 1);
}

void ydb_free(void *ptr)
{
    free(ptr);
}

/* A core is wanted, whatever the process thinks of SIGABRT. */
void ydb_fork_n_core(void)
{
    pid_t child = fork();

    if (child == 0) {
        struct rlimit all;
        if (getrlimit(RLIMIT_CORE, &all) == 0) {
            all.rlim_cur = all.rlim_max;
            setrlimit(RLIMIT_CORE, &all);
        }
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

int ydb_call_variadic_plist_func(ydb_vplist_func cgfunc, gparam_list *cvplist)
{
    typedef int variadic(void *, ...);
    struct caret__ydb_call c;

    if (cgfunc == NULL || cvplist == NULL || cvplist->n < 0 || cvplist->n > MAX_GPARAM_LIST_ARGS) {
        if (!caret__ydb_begin(&c))
            return c.status;
        c.name = "ydb_call_variadic_plist_func";
        return caret__ydb_end(&c, caret__ydb_invalid(&c, cgfunc == NULL    ? "NULL cgfunc"
                                                         : cvplist == NULL ? "NULL cvplist"
                                                                           : "Invalid cvplist->n"));
    }
    void *a[MAX_GPARAM_LIST_ARGS] = {0};
    for (intptr_t i = 0; i < cvplist->n; i++)
        a[i] = cvplist->arg[i];
    /* Arguments more than the function takes do no harm: the caller removes them. */
    return ((variadic *)(void (*)(void))cgfunc)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9],
                                                a[10], a[11], a[12], a[13], a[14], a[15], a[16], a[17], a[18],
                                                a[19], a[20], a[21], a[22], a[23], a[24], a[25], a[26], a[27],
                                                a[28], a[29], a[30], a[31], a[32], a[33], a[34], a[35]);
}

/* ----------------------------------------------------------------------- files */

struct file_id {
    dev_t device;
    ino_t inode;
};

static int name_to_id(struct caret__ydb_call *c, const ydb_string_t *filename, ydb_fileid_ptr_t *fileid)
{
    struct stat st;

    c->name = "ydb_file_name_to_id";
    if (filename == NULL || filename->address == NULL || filename->length == 0)
        return caret__ydb_invalid(c, "NULL filename");
    if (fileid == NULL)
        return caret__ydb_invalid(c, "NULL fileid");
    char *name = strndup(filename->address, filename->length);
    int rc = name != NULL ? stat(name, &st) : -1;
    struct file_id *id = rc == 0 ? malloc(sizeof *id) : NULL;
    free(name);
    if (id == NULL)
        return YDB_NOTOK;
    *id = (struct file_id){st.st_dev, st.st_ino};
    *fileid = id;
    return YDB_OK;
}

static int is_identical(struct caret__ydb_call *c, const struct file_id *a, const struct file_id *b)
{
    c->name = "ydb_file_is_identical";
    if (a == NULL || b == NULL)
        return caret__ydb_invalid(c, a == NULL ? "NULL fileid1" : "NULL fileid2");
    return a->device == b->device && a->inode == b->inode ? YDB_OK : YDB_NOTOK;
}

static int id_free(struct caret__ydb_call *c, ydb_fileid_ptr_t fileid)
{
    c->name = "ydb_file_id_free";
    if (fileid == NULL)
        return caret__ydb_invalid(c, "NULL fileid");
    free(fileid);
    return YDB_OK;
}

int ydb_file_name_to_id(ydb_string_t *filename, ydb_fileid_ptr_t *fileid)
{
    struct caret__ydb_call c;

    return caret__ydb_begin(&c) ? caret__ydb_end(&c, name_to_id(&c, filename, fileid)) : c.status;
}

int ydb_file_is_identical(ydb_fileid_ptr_t fileid1, ydb_fileid_ptr_t fileid2)
{
    struct caret__ydb_call c;

    return caret__ydb_begin(&c) ? caret__ydb_end(&c, is_identical(&c, fileid1, fileid2)) : c.status;
}

int ydb_file_id_free(ydb_fileid_ptr_t fileid)
{
    struct caret__ydb_call c;

    return caret__ydb_begin(&c) ? caret__ydb_end(&c, id_free(&c, fileid)) : c.status;
}

int ydb_file_name_to_id_t(uint64_t tptoken, ydb_buffer_t *errstr, ydb_string_t *filename,
                          ydb_fileid_ptr_t *fileid)
{
    struct caret__ydb_call c;

    return caret__ydb_begin_st(&c, tptoken, errstr) ? caret__ydb_end_st(&c, name_to_id(&c, filename, fileid))
                                                    : c.status;
}

int ydb_file_is_identical_t(uint64_t tptoken, ydb_buffer_t *errstr, ydb_fileid_ptr_t fileid1,
                            ydb_fileid_ptr_t fileid2)
{
    struct caret__ydb_call c;

    return caret__ydb_begin_st(&c, tptoken, errstr)
               ? caret__ydb_end_st(&c, is_identical(&c, fileid1, fileid2))
               : c.status;
}

int ydb_file_id_free_t(uint64_t tptoken, ydb_buffer_t *errstr, ydb_fileid_ptr_t fileid)
{
    struct caret__ydb_call c;

    return caret__ydb_begin_st(&c, tptoken, errstr) ? caret__ydb_end_st(&c, id_free(&c, fileid)) : c.status;
}
