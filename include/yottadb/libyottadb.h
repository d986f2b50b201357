/*
 * libyottadb.h - the C interface of YottaDB's SimpleAPI, over a Caret database.
 *
 * Names, types, values and behaviour are those that programs and language wrappers written for YottaDB expect;
 * docs/yottadb.md tells how to use it and what differs.
 *
 * All functions but a few return YDB_OK (0), a negative YDB_ERR_..., or one of the positive outcomes YDB_TP_RESTART,
 * YDB_TP_ROLLBACK, YDB_LOCK_TIMEOUT, YDB_NOTOK.  ydb_zstatus() gives the text of the calling thread's last error.
 *
 * Input buffers are read from buf_addr to len_used; one with len_used over len_alloc, or without an address where
 * there are bytes, is PARAMINVALID, a name in one INVVARNAME.  Output buffers have room for len_alloc bytes and get
 * len_used; if that is too little, the function returns YDB_ERR_INVSTRLEN, len_used is what is needed and the room is as
 * it was.  The name of the variable is looked at first, then the number of subscripts, then the buffers.
 *
 * The functions ..._st are told the transaction that they belong to: the tptoken which ydb_tp_st() gave to its
 * function, or YDB_NOTTP outside of any.  errstr, if not NULL, gets the error's text.  The functions ..._s belong to
 * the transaction whose function runs in the calling thread.  Any thread may call any function.
 *
 * Caution: wrappers find the constants here by looking for lines with tabs, which are part of the interface.
 */
#ifndef CARET_LIBYOTTADB_H
#define CARET_LIBYOTTADB_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "gparam_list.h"
#include "libydberrors.h"
#include "libydberrors2.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* clang-format off */

#define	YDB_RELEASE	206	/* the release whose interface this is, r2.06 */

#define	YDB_OK	0	/* done */
#define	YDB_INT_MAX	((int)0x7fffffff)	/* the outcomes are counted down from here */
#define	YDB_TP_RESTART	(YDB_INT_MAX - 1)	/* begin the transaction again */
#define	YDB_TP_ROLLBACK	(YDB_INT_MAX - 2)	/* the transaction is undone */
#define	YDB_NOTOK	(YDB_INT_MAX - 3)	/* no */
#define	YDB_LOCK_TIMEOUT	(YDB_INT_MAX - 4)	/* the lock was not obtained in time */
#define	YDB_DEFER_HANDLER	(YDB_INT_MAX - 5)	/* never returned */

#define	YDB_NOTTP	0	/* the tptoken outside of transactions */

#define	YDB_MAX_IDENT	31	/* bytes of a name, after the ^ */
#define	YDB_MAX_NAMES	35	/* names in a list */
#define	YDB_MAX_STR	(1 * 1024 * 1024)	/* bytes of a value that fits every client */
#define	YDB_MAX_SUBS	31	/* subscripts of a node */
#define	YDB_MAX_PARMS	32	/* arguments of a call of M */
#define	YDB_MAX_TIME_NSEC	(0x7fffffffll * 1000ll * 1000ll)	/* the longest timeout */
#define	YDB_MAX_YDBERR	(1 << 30)	/* errors are between these two, */
#define	YDB_MIN_YDBERR	(1 << 27)	/* negated */
#define	YDB_MAX_ERRORMSG	1024	/* bytes of a message */
#define	YDB_MAX_M_LINE_LEN	8192	/* bytes of a line of M */

#define	DEFAULT_DATA_SIZE	32	/* bytes to begin with for a value, */
#define	DEFAULT_SUBSCR_CNT	2	/* buffers for subscripts, */
#define	DEFAULT_SUBSCR_SIZE	16	/* and bytes of one */

/* What ydb_delete_s() deletes. */
enum {
	YDB_DEL_TREE = 1, /* the node and all below */
	YDB_DEL_NODE = 2 /* its value */
};

/* What ydb_data_s() tells. */
enum {
	YDB_DATA_UNDEF = 0, /* nothing */
	YDB_DATA_VALUE_NODESC = 1, /* a value */
	YDB_DATA_NOVALUE_DESC = 10, /* nodes below */
	YDB_DATA_VALUE_DESC = 11, /* both */
	YDB_DATA_ERROR = 0x7fffff00
};

/* The last three bits of an error's number. */
enum {
	YDB_SEVERITY_WARNING = 0,
	YDB_SEVERITY_SUCCESS = 1,
	YDB_SEVERITY_ERROR = 2,
	YDB_SEVERITY_INFORMATIONAL = 3,
	YDB_SEVERITY_FATAL = 4
};

/* Languages, for ydb_main_lang_init(). */
enum {
	YDB_MAIN_LANG_C = 0,
	YDB_MAIN_LANG_GO = 1
};

/* clang-format on */

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif

/* ---------------------------------------------------------------------- types */

typedef struct {
    unsigned int len_alloc; /* bytes of room */
    unsigned int len_used;  /* bytes in use */
    char *buf_addr;
} ydb_buffer_t;

typedef struct {
    unsigned long length;
    char *address;
} ydb_string_t;

typedef int ydb_int_t;
typedef unsigned int ydb_uint_t;
typedef long ydb_long_t;
typedef unsigned long ydb_ulong_t;
typedef int64_t ydb_int64_t;
typedef uint64_t ydb_uint64_t;
typedef float ydb_float_t;
typedef double ydb_double_t;
typedef char ydb_char_t;
typedef int ydb_status_t;
typedef int (*ydb_pointertofunc_t)(void);

typedef struct {
    ydb_string_t rtn_name;
    void *handle; /* NULL at first */
} ci_name_descriptor;

/* One bit for each argument of a routine. */
typedef struct {
    unsigned int input_mask;
    unsigned int output_mask;
} ci_parm_type;

typedef int (*ydb_tpfnptr_t)(void *parm);
typedef int (*ydb_tp2fnptr_t)(uint64_t tptoken, ydb_buffer_t *errstr, void *parm);
typedef void *ydb_fileid_ptr_t;
typedef void (*ydb_funcptr_retvoid_t)(intptr_t id, unsigned int len, char *data);
typedef uintptr_t (*ydb_vplist_func)(void); /* any function: cast */

/* --------------------------------------------------------------------- macros
 *
 * Each is a block, as with YottaDB: it needs no semicolon, and no other may come before an else. */

#define YDB_ASSERT(x)                                                                                        \
    {                                                                                                        \
        if (!(x)) {                                                                                          \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                                \
            ydb_fork_n_core();                                                                               \
            exit(-1);                                                                                        \
        }                                                                                                    \
    }

/* Is it an error of YottaDB's, rather than one of errno's?  Negative or not. */
#define YDB_IS_YDB_ERRCODE(MSGNUM)                                                                           \
    (((MSGNUM) >= YDB_MIN_YDBERR && (MSGNUM) <= YDB_MAX_YDBERR) ||                                           \
     ((MSGNUM) <= -YDB_MIN_YDBERR && (MSGNUM) >= -YDB_MAX_YDBERR))
#define YDB_IS_YDBERR(MSGNUM)          YDB_IS_YDB_ERRCODE(MSGNUM)

#define YDB_SEVERITY(ERRNUM, SEVERITY) ((SEVERITY) = (((ERRNUM) < 0 ? -(ERRNUM) : (ERRNUM)) & 7))

#define YDB_MALLOC_BUFFER(BUFFERP, LEN)                                                                      \
    {                                                                                                        \
        (BUFFERP)->buf_addr = (char *)malloc(LEN);                                                           \
        (BUFFERP)->len_alloc = (BUFFERP)->buf_addr != NULL ? (unsigned int)(LEN) : 0;                        \
        (BUFFERP)->len_used = 0;                                                                             \
    }

#define YDB_FREE_BUFFER(BUFFERP)                                                                             \
    {                                                                                                        \
        free((BUFFERP)->buf_addr);                                                                           \
        (BUFFERP)->buf_addr = NULL;                                                                          \
        (BUFFERP)->len_alloc = (BUFFERP)->len_used = 0;                                                      \
    }

/* A literal, or a string that ends with a NUL, as a buffer: without a copy. */
#define YDB_LITERAL_TO_BUFFER(LITERAL, BUFFERP)                                                              \
    {                                                                                                        \
        (BUFFERP)->buf_addr = (char *)(LITERAL);                                                             \
        (BUFFERP)->len_used = (BUFFERP)->len_alloc = (unsigned int)(sizeof(LITERAL) - 1);                    \
    }

#define YDB_STRING_TO_BUFFER(STRING, BUFFERP)                                                                \
    {                                                                                                        \
        (BUFFERP)->buf_addr = (char *)(STRING);                                                              \
        (BUFFERP)->len_used = (BUFFERP)->len_alloc = (unsigned int)strlen((BUFFERP)->buf_addr);              \
    }

/* Copies; COPY_DONE tells whether there was room. */
#define YDB_COPY_BYTES_TO_BUFFER_OF_(BYTES, LEN, BUFFERP, COPY_DONE)                                         \
    {                                                                                                        \
        (COPY_DONE) = (LEN) <= (BUFFERP)->len_alloc;                                                         \
        if (COPY_DONE) {                                                                                     \
            memcpy((BUFFERP)->buf_addr, (BYTES), (LEN));                                                     \
            (BUFFERP)->len_used = (unsigned int)(LEN);                                                       \
        }                                                                                                    \
    }

#define YDB_COPY_BUFFER_TO_BUFFER(SOURCEP, TARGETP, COPY_DONE)                                               \
    YDB_COPY_BYTES_TO_BUFFER_OF_((SOURCEP)->buf_addr, (SOURCEP)->len_used, TARGETP, COPY_DONE)

#define YDB_COPY_LITERAL_TO_BUFFER(LITERAL, BUFFERP, COPY_DONE)                                              \
    YDB_COPY_BYTES_TO_BUFFER_OF_(LITERAL, sizeof(LITERAL) - 1, BUFFERP, COPY_DONE)

#define YDB_COPY_STRING_TO_BUFFER(STRING, BUFFERP, COPY_DONE)                                                \
    YDB_COPY_BYTES_TO_BUFFER_OF_(STRING, strlen(STRING), BUFFERP, COPY_DONE)

#define YDB_BUFFER_IS_SAME(BUFFER1P, BUFFER2P)                                                               \
    ((BUFFER1P)->len_used == (BUFFER2P)->len_used &&                                                         \
     ((BUFFER1P)->len_used == 0 ||                                                                           \
      memcmp((BUFFER1P)->buf_addr, (BUFFER2P)->buf_addr, (BUFFER1P)->len_used) == 0))

/* ----------------------------------------------------------------------- data */

/*
 * The value of a node, or of an intrinsic special variable ($...).
 * GVUNDEF, LVUNDEF: it has none.  INVSTRLEN.
 *   All functions on nodes: INVVARNAME, VARNAME2LONG, MINNRSUBSCRIPTS, MAXNRSUBSCRIPTS, SUBSARRAYNULL, PARAMINVALID,
 * GVSUBOFLOW; INVSVN, ISVSUBSCRIPTED, and ISVUNSUPPORTED for what special variables can't do; ZGBLDIRACC, DBFILERR;
 * CALLINAFTERXIT; within a transaction YDB_TP_RESTART, which its function is to return, and TPTIMEOUT.
 */
int ydb_get_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
              ydb_buffer_t *ret_value);

/* value NULL: the empty string.  REC2BIG, SVNOSET. */
int ydb_set_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
              const ydb_buffer_t *value);

int ydb_data_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
               unsigned int *ret_value);

/* UNIMPLOP: deltype is neither YDB_DEL_TREE nor YDB_DEL_NODE. */
int ydb_delete_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray, int deltype);

/* Kill all local variables but those named.  NAMECOUNT2HI, INVNAMECOUNT, GVNUNSUPPORTED, ISVUNSUPPORTED. */
int ydb_delete_excl_s(int namecount, const ydb_buffer_t *varnames);

/* Add increment (NULL or empty: 1) as one atomic step, by M's rules: 18 digits, the rest cut off.  The sum comes back.
 * NUMOFLOW from 1E47 on; INVSTRLEN: then nothing was added. */
int ydb_incr_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
               const ydb_buffer_t *increment, ydb_buffer_t *ret_value);

/* The next, previous sibling's last subscript; with subs_used 0 the next, previous variable's name.  NODEEND: there is
 * none, and *ret_value is as it was. */
int ydb_subscript_next_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
                         ydb_buffer_t *ret_value);
int ydb_subscript_previous_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
                             ydb_buffer_t *ret_value);

/* The next, previous node of the variable that has a value, depth first.  *ret_subs_used: buffers in ret_subsarray,
 * then subscripts of that node.  NODEEND: *ret_subs_used is 0.  INSUFFSUBS: there are more of them, *ret_subs_used is
 * how many; no buffer was written to.  INVSTRLEN, PARAMINVALID: *ret_subs_used is the index of the buffer that is too
 * short, or at no address. */
int ydb_node_next_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
                    int *ret_subs_used, ydb_buffer_t *ret_subsarray);
int ydb_node_previous_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
                        int *ret_subs_used, ydb_buffer_t *ret_subsarray);

/* ---------------------------------------------------------------------- locks */

/* Release all locks, then get all of these (triples varname, subs_used, subsarray) within the time, or none.
 * YDB_LOCK_TIMEOUT; TIME2LONG, NAMECOUNT2HI, INVNAMECOUNT.  Locks are the process's, not the thread's. */
int ydb_lock_s(unsigned long long timeout_nsec, int namecount, ...);
int ydb_lock_incr_s(unsigned long long timeout_nsec, const ydb_buffer_t *varname, int subs_used,
                    const ydb_buffer_t *subsarray);
int ydb_lock_decr_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray);

/* --------------------------------------------------------------- transactions */

/*
 * Run tpfn(parm) as a transaction.  It returns YDB_OK to commit, YDB_TP_RESTART to begin again, YDB_TP_ROLLBACK or
 * anything else to undo it, which is then returned.  transid "BATCH" or "BA": do not wait for the disk.  The local
 * variables named ("*": all) get back their values when it begins again.  Within another one it is part of that:
 * YDB_TP_RESTART must be passed on.  TPTOODEEP; TPTIMEOUT: it took over $ZMAXTPTIME seconds.
 */
int ydb_tp_s(ydb_tpfnptr_t tpfn, void *parm, const char *transid, int namecount,
             const ydb_buffer_t *varnames);

/* ----------------------------------------------------------------------- text */

/* Any bytes as ZWR text, "a"_$C(10), and back; bytes or UTF-8 as $ydb_chset says; a canonical number is text as it
 * is.  What is not such text is read as the empty string.  INVSTRLEN: what fits may be in the room; PARAMINVALID. */
int ydb_str2zwr_s(const ydb_buffer_t *str, ydb_buffer_t *zwr);
int ydb_zwr2str_s(const ydb_buffer_t *zwr, ydb_buffer_t *str);

/* ----------------------------------------------------------------------- JSON
 *
 * format is "JSON", in any case.  A node with children 0, 1, 2 and so on, and no others, is an array; with any others
 * an object, whose member "" is the node's own value.  Numbers are numbers; $C(0)_"true", "false" and "null" are those
 * words; a string that looks like a number comes as $C(0) and the string.
 */

/* The subtree as text, in memory to be freed by free(); a NUL comes after it.  GVUNDEF, LVUNDEF: there is nothing.
 * JANSSONENCODEERROR: something is not UTF-8. */
int ydb_encode_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
                 const char *format, ydb_string_t *ret_value);

/* Store an array or an object; other nodes there remain.  All of it or nothing, in a global.  JANSSONINVALIDJSON,
 * MAXNRSUBSCRIPTS, GVSUBOFLOW, NUMOFLOW, REC2BIG. */
int ydb_decode_s(const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray,
                 const char *format, const ydb_string_t *value);

/* ---------------------------------------- the same, told their transaction: tptoken */

int ydb_get_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
               const ydb_buffer_t *subsarray, ydb_buffer_t *ret_value);
int ydb_set_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
               const ydb_buffer_t *subsarray, const ydb_buffer_t *value);
int ydb_data_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                const ydb_buffer_t *subsarray, unsigned int *ret_value);
int ydb_delete_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                  const ydb_buffer_t *subsarray, int deltype);
int ydb_delete_excl_st(uint64_t tptoken, ydb_buffer_t *errstr, int namecount, const ydb_buffer_t *varnames);
int ydb_incr_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                const ydb_buffer_t *subsarray, const ydb_buffer_t *increment, ydb_buffer_t *ret_value);
int ydb_subscript_next_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                          const ydb_buffer_t *subsarray, ydb_buffer_t *ret_value);
int ydb_subscript_previous_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname,
                              int subs_used, const ydb_buffer_t *subsarray, ydb_buffer_t *ret_value);
int ydb_node_next_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                     const ydb_buffer_t *subsarray, int *ret_subs_used, ydb_buffer_t *ret_subsarray);
int ydb_node_previous_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                         const ydb_buffer_t *subsarray, int *ret_subs_used, ydb_buffer_t *ret_subsarray);
int ydb_lock_st(uint64_t tptoken, ydb_buffer_t *errstr, unsigned long long timeout_nsec, int namecount, ...);
int ydb_lock_incr_st(uint64_t tptoken, ydb_buffer_t *errstr, unsigned long long timeout_nsec,
                     const ydb_buffer_t *varname, int subs_used, const ydb_buffer_t *subsarray);
int ydb_lock_decr_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                     const ydb_buffer_t *subsarray);

/* tpfn gets a token for this level of the transaction; any thread that is given it may take part, in turn.
 * Once the level ends, or begins again, it is INVTPTRANS. */
int ydb_tp_st(uint64_t tptoken, ydb_buffer_t *errstr, ydb_tp2fnptr_t tpfn, void *parm, const char *transid,
              int namecount, const ydb_buffer_t *varnames);
int ydb_str2zwr_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *str, ydb_buffer_t *zwr);
int ydb_zwr2str_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *zwr, ydb_buffer_t *str);
int ydb_encode_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                  const ydb_buffer_t *subsarray, const char *format, ydb_string_t *ret_value);
int ydb_decode_st(uint64_t tptoken, ydb_buffer_t *errstr, const ydb_buffer_t *varname, int subs_used,
                  const ydb_buffer_t *subsarray, const char *format, const ydb_string_t *value);

/* ------------------------------------------------------------------ utilities */

/* Nothing has to be called first.  ydb_exit() closes the databases and releases the locks, as the end of the process
 * does; everything is CALLINAFTERXIT from then on.  Before anything else it does nothing; within a transaction it
 * returns -YDB_ERR_INVYDBEXIT.  These two return errors as positive numbers. */
int ydb_init(void);
int ydb_exit(void);

/* In a child of fork() nothing has to be called; it has none of its parent's locks, and is in no transaction.
 * If the parent used functions ..._st, they are STAPIFORKEXEC in the child. */
int ydb_child_init(void *param);
void ydb_fork_n_core(void); /* a core of a copy of this process */

void *ydb_malloc(size_t size);
void ydb_free(void *ptr);

/* The text for a status; UNKNOWNSYSERR: there is none.  "code,where,text" of the thread's last error, ended by a NUL;
 * INVSTRLEN: cut at len. */
int ydb_message(int status, ydb_buffer_t *msg_buff);
int ydb_message_t(uint64_t tptoken, ydb_buffer_t *errstr, int status, ydb_buffer_t *msg_buff);
int ydb_zstatus(ydb_char_t *msg, ydb_long_t len);

int ydb_thread_is_main(void); /* YDB_OK or YDB_NOTOK */
int ydb_main_lang_init(int langid, void *parm);

/* There are no signal handlers: nothing to do, YDB_OK. */
int ydb_eintr_handler(void);
int ydb_eintr_handler_t(uint64_t tptoken, ydb_buffer_t *errstr);
int ydb_sig_dispatch(ydb_buffer_t *errstr, int signum);
int ydb_stdout_stderr_adjust(void);
int ydb_stdout_stderr_adjust_t(uint64_t tptoken, ydb_buffer_t *errstr);

/* Sleep for a time; wait_any: or until a timer went off, or a signal that the thread handles came.  TIME2LONG. */
int ydb_hiber_start(unsigned long long sleep_nsec);
int ydb_hiber_start_wait_any(unsigned long long sleep_nsec);

/* Call handler(id, hdata_len, copy of hdata) once after the time, in a thread of the library.  TIME2LONG,
 * PARAMINVALID. */
int ydb_timer_start(intptr_t timer_id, unsigned long long limit_nsec, ydb_funcptr_retvoid_t handler,
                    unsigned int hdata_len, void *hdata);
int ydb_timer_start_t(uint64_t tptoken, ydb_buffer_t *errstr, intptr_t timer_id,
                      unsigned long long limit_nsec, ydb_funcptr_retvoid_t handler, unsigned int hdata_len,
                      void *hdata);
void ydb_timer_cancel(intptr_t timer_id);
int ydb_timer_cancel_t(uint64_t tptoken, ydb_buffer_t *errstr, intptr_t timer_id);

/* Are two names those of one file?  The id is to be freed.  YDB_NOTOK: no, or there is no such file. */
int ydb_file_name_to_id(ydb_string_t *filename, ydb_fileid_ptr_t *fileid);
int ydb_file_is_identical(ydb_fileid_ptr_t fileid1, ydb_fileid_ptr_t fileid2);
int ydb_file_id_free(ydb_fileid_ptr_t fileid);
int ydb_file_name_to_id_t(uint64_t tptoken, ydb_buffer_t *errstr, ydb_string_t *filename,
                          ydb_fileid_ptr_t *fileid);
int ydb_file_is_identical_t(uint64_t tptoken, ydb_buffer_t *errstr, ydb_fileid_ptr_t fileid1,
                            ydb_fileid_ptr_t fileid2);
int ydb_file_id_free_t(uint64_t tptoken, ydb_buffer_t *errstr, ydb_fileid_ptr_t fileid);

/* cgfunc(arg[0], ..., arg[n - 1]), for callers that know the number of arguments only when they run. */
int ydb_call_variadic_plist_func(ydb_vplist_func cgfunc, gparam_list *cvplist);

/* MurmurHash3 of `len` bytes.  A hash of 128 bits is two numbers; ..._bytes() writes its 16 bytes, ..._hex() 32 digits
 * without a NUL.  One of several pieces: HASH128_STATE_INIT(state, seed), ..._ingest() of each, ..._result(), where
 * addl_seed is the length of all, as ydb_mmrhash_128() has it, or another number.  A negative len counts as 0.  These
 * work in any thread and at any time. */
typedef unsigned int uint4;
typedef struct {
    uint64_t one, two;
} ydb_uint16;
typedef struct {
    ydb_uint16 h, c; /* the hash so far; bytes that wait for others, */
    int carry_bytes; /* so many */
} hash128_state_t;

#define HASH128_STATE_INIT(STATE, SEED)                                                                      \
    {                                                                                                        \
        (STATE).h.one = (STATE).h.two = (SEED);                                                              \
        (STATE).c.one = (STATE).c.two = 0;                                                                   \
        (STATE).carry_bytes = 0;                                                                             \
    }

void ydb_mmrhash_32(const void *key, int len, uint4 seed, uint4 *out4);
void ydb_mmrhash_128(const void *key, int len, uint4 seed, ydb_uint16 *out);
void ydb_mmrhash_128_ingest(hash128_state_t *state, const void *key, int len);
void ydb_mmrhash_128_result(hash128_state_t *state, uint4 addl_seed, ydb_uint16 *out);
void ydb_mmrhash_128_bytes(const ydb_uint16 *hash, unsigned char *out);
void ydb_mmrhash_128_hex(const ydb_uint16 *hash, unsigned char *out);

/* ------------------------------------------------------------------ calls of M
 *
 * M is in caret_m.so, beside this library, which is loaded when a routine is called; it needs LuaJIT's shared library.
 * Without it: DLLNOOPEN.
 *
 * ydb_ci(), ydb_cip(), ydb_cij() and their twins return errors below 0, as all functions do: YDB_ERR_LVUNDEF.  A
 * descriptor's name ends by a NUL; its length does not count.  A transaction that a routine began and did not end is
 * undone. */

int ydb_ci(const char *c_rtn_name, ...);
int ydb_ci_t(uint64_t tptoken, ydb_buffer_t *errstr, const char *c_rtn_name, ...);
int ydb_cip(ci_name_descriptor *ci_info, ...);
int ydb_cip_t(uint64_t tptoken, ydb_buffer_t *errstr, ci_name_descriptor *ci_info, ...);
int ydb_cij(const char *c_rtn_name, char **arglist, int count, int *plist, ...);
int ydb_ci_tab_open(const char *fname, uintptr_t *ret_value);
int ydb_ci_tab_open_t(uint64_t tptoken, ydb_buffer_t *errstr, const char *fname, uintptr_t *ret_value);
int ydb_ci_tab_switch(uintptr_t new_handle, uintptr_t *ret_old_handle);
int ydb_ci_tab_switch_t(uint64_t tptoken, ydb_buffer_t *errstr, uintptr_t new_handle,
                        uintptr_t *ret_old_handle);
int ydb_ci_get_info(const char *rtnname, ci_parm_type *pptype);
int ydb_ci_get_info_t(uint64_t tptoken, ydb_buffer_t *errstr, const char *rtnname, ci_parm_type *pptype);

/*
 * Not of YottaDB, whose signal handlers Caret has not.  The routine of M that runs now, in whichever thread it was
 * called, ends: within 1,000 turns of a loop of FOR or GOTO, or in a HANG, READ or LOCK that waits.  No trap of M sees
 * it, a transaction that it began is undone, and its call returns YDB_ERR_CTRLC; so does that of a routine which called
 * C that called it.  From any thread or a signal handler: it only stores and wakes.  No routine runs: nothing.
 */
void ydb_ci_interrupt(void);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif
