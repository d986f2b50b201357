/* What programs compiled for YottaDB rely on: sizes, offsets, values, and names that libyottadb.so exports. */
#include "yottadb/api.h"

#include <dlfcn.h>

#define IS(x, n) _Static_assert((x) == (n), #x " is not " #n)

IS(sizeof(ydb_buffer_t), 16);
IS(offsetof(ydb_buffer_t, len_alloc), 0);
IS(offsetof(ydb_buffer_t, len_used), 4);
IS(offsetof(ydb_buffer_t, buf_addr), 8);
IS(sizeof(ydb_string_t), 16);
IS(offsetof(ydb_string_t, length), 0);
IS(offsetof(ydb_string_t, address), 8);
IS(sizeof(((ydb_string_t *)0)->length), 8);
IS(sizeof(ci_name_descriptor), 24);
IS(offsetof(ci_name_descriptor, rtn_name), 0);
IS(offsetof(ci_name_descriptor, handle), 16);
IS(sizeof(ci_parm_type), 8);
IS(offsetof(ci_parm_type, input_mask), 0);
IS(offsetof(ci_parm_type, output_mask), 4);
IS(sizeof(gparam_list), 296);
IS(offsetof(gparam_list, n), 0);
IS(offsetof(gparam_list, arg), 8);
IS(MAX_GPARAM_LIST_ARGS, 36);
IS(MAX_ACTUALS, 32);
IS(sizeof(ydb_int_t), 4);
IS(sizeof(ydb_uint_t), 4);
IS(sizeof(ydb_long_t), 8);
IS(sizeof(ydb_ulong_t), 8);
IS(sizeof(ydb_int64_t), 8);
IS(sizeof(ydb_uint64_t), 8);
IS(sizeof(ydb_float_t), 4);
IS(sizeof(ydb_double_t), 8);
IS(sizeof(ydb_char_t), 1);
IS(sizeof(ydb_status_t), 4);
IS(sizeof(ydb_tpfnptr_t), 8);
IS(sizeof(ydb_tp2fnptr_t), 8);
IS(sizeof(ydb_fileid_ptr_t), 8);
IS(sizeof(ydb_funcptr_retvoid_t), 8);

IS(YDB_OK, 0);
IS(YDB_TP_RESTART, 0x7ffffffe);
IS(YDB_TP_ROLLBACK, 0x7ffffffd);
IS(YDB_NOTOK, 0x7ffffffc);
IS(YDB_LOCK_TIMEOUT, 0x7ffffffb);
IS(YDB_DEFER_HANDLER, 0x7ffffffa);
IS(YDB_NOTTP, 0);
IS(YDB_RELEASE, 206);
IS(YDB_DEL_TREE, 1);
IS(YDB_DEL_NODE, 2);
IS(YDB_DATA_UNDEF, 0);
IS(YDB_DATA_VALUE_NODESC, 1);
IS(YDB_DATA_NOVALUE_DESC, 10);
IS(YDB_DATA_VALUE_DESC, 11);
IS(YDB_DATA_ERROR, 0x7fffff00);
IS(YDB_MAX_IDENT, 31);
IS(YDB_MAX_NAMES, 35);
IS(YDB_MAX_STR, 1048576);
IS(YDB_MAX_SUBS, 31);
IS(YDB_MAX_PARMS, 32);
IS(YDB_MAX_ERRORMSG, 1024);
IS(YDB_MAX_TIME_NSEC, 0x7fffffffll * 1000000);
IS(YDB_MAX_YDBERR, 1 << 30);
IS(YDB_MIN_YDBERR, 1 << 27);
IS(YDB_MAX_M_LINE_LEN, 8192);
IS(YDB_IS_YDB_ERRCODE(YDB_ERR_GVUNDEF), 1);
IS(YDB_IS_YDB_ERRCODE(-YDB_ERR_GVUNDEF), 1);
IS(YDB_IS_YDB_ERRCODE(2), 0);
IS(YDB_IS_YDB_ERRCODE(YDB_TP_RESTART), 0);
IS(YDB_SEVERITY_WARNING, 0);
IS(YDB_SEVERITY_SUCCESS, 1);
IS(YDB_SEVERITY_ERROR, 2);
IS(YDB_SEVERITY_INFORMATIONAL, 3);
IS(YDB_SEVERITY_FATAL, 4);

IS(YDB_ERR_GVUNDEF, -150372994);
IS(YDB_ERR_LVUNDEF, -150373850);
IS(YDB_ERR_INVVARNAME, -151027762);
IS(YDB_ERR_VARNAME2LONG, -151027842);
IS(YDB_ERR_INVSVN, -150373074);
IS(YDB_ERR_SVNOSET, -150373770);
IS(YDB_ERR_UNIMPLOP, -150373858);
IS(YDB_ERR_MAXNRSUBSCRIPTS, -150373282);
IS(YDB_ERR_PARAMINVALID, -151027770);
IS(YDB_ERR_INVSTRLEN, -150375522);
IS(YDB_ERR_INSUFFSUBS, -151027778);
IS(YDB_ERR_NODEEND, -151027922);
IS(YDB_ERR_NUMOFLOW, -150373506);
IS(YDB_ERR_KEY2BIG, -150373178);
IS(YDB_ERR_GVSUBOFLOW, -150372986);
IS(YDB_ERR_REC2BIG, -150373602);
IS(YDB_ERR_MAXSTRLEN, -150373290);
IS(YDB_ERR_NULSUBSC, -150373498);
IS(YDB_ERR_LVNULLSUBS, -150375938);
IS(YDB_ERR_TIME2LONG, -151027834);
IS(YDB_ERR_NAMECOUNT2HI, -151027810);
IS(YDB_ERR_INVNAMECOUNT, -151027818);
IS(YDB_ERR_TPTIMEOUT, -150377322);
IS(YDB_ERR_TPTOODEEP, -150376106);
IS(YDB_ERR_TPRETRY, -150376098);
IS(YDB_ERR_INVTPTRANS, -151027938);
IS(YDB_ERR_SIMPLEAPINEST, -151027850);
IS(YDB_ERR_SIMPLEAPINOTALLOWED, -151027954);
IS(YDB_ERR_THREADEDAPINOTALLOWED, -151027946);
IS(YDB_ERR_CALLINAFTERXIT, -150381530);
IS(YDB_ERR_STAPIFORKEXEC, -151027962);
IS(YDB_ERR_INVYDBEXIT, -150380242);
IS(YDB_ERR_DIVZERO, -150373210);
IS(YDB_ERR_NOCANONICNAME, -150379530);
IS(YDB_ERR_ZGBLDIRACC, -418809578);
IS(YDB_ERR_DBFILERR, -150372546);
IS(YDB_ERR_MINNRSUBSCRIPTS, -151027786);
IS(YDB_ERR_SUBSARRAYNULL, -151027794);
IS(YDB_ERR_ISVSUBSCRIPTED, -151028082);
IS(YDB_ERR_TPLOCK, -150376074);
IS(YDB_ERR_MAXARGCNT, -150373882);
IS(YDB_ERR_CINOENTRY, -150379666);
IS(YDB_ERR_CITABOPN, -150379602);
IS(YDB_ERR_JANSSONINVALIDJSON, -151028178);

static const char *const names[] = {
    "ydb_get_s",
    "ydb_set_s",
    "ydb_data_s",
    "ydb_delete_s",
    "ydb_delete_excl_s",
    "ydb_incr_s",
    "ydb_subscript_next_s",
    "ydb_subscript_previous_s",
    "ydb_node_next_s",
    "ydb_node_previous_s",
    "ydb_lock_s",
    "ydb_lock_incr_s",
    "ydb_lock_decr_s",
    "ydb_tp_s",
    "ydb_str2zwr_s",
    "ydb_zwr2str_s",
    "ydb_get_st",
    "ydb_set_st",
    "ydb_data_st",
    "ydb_delete_st",
    "ydb_delete_excl_st",
    "ydb_incr_st",
    "ydb_subscript_next_st",
    "ydb_subscript_previous_st",
    "ydb_node_next_st",
    "ydb_node_previous_st",
    "ydb_lock_st",
    "ydb_lock_incr_st",
    "ydb_lock_decr_st",
    "ydb_tp_st",
    "ydb_str2zwr_st",
    "ydb_zwr2str_st",
    "ydb_encode_s",
    "ydb_encode_st",
    "ydb_decode_s",
    "ydb_decode_st",
    "ydb_init",
    "ydb_exit",
    "ydb_malloc",
    "ydb_free",
    "ydb_message",
    "ydb_message_t",
    "ydb_zstatus",
    "ydb_thread_is_main",
    "ydb_child_init",
    "ydb_eintr_handler",
    "ydb_eintr_handler_t",
    "ydb_hiber_start",
    "ydb_hiber_start_wait_any",
    "ydb_timer_start",
    "ydb_timer_start_t",
    "ydb_timer_cancel",
    "ydb_timer_cancel_t",
    "ydb_file_name_to_id",
    "ydb_file_name_to_id_t",
    "ydb_file_is_identical",
    "ydb_file_is_identical_t",
    "ydb_file_id_free",
    "ydb_file_id_free_t",
    "ydb_fork_n_core",
    "ydb_stdout_stderr_adjust",
    "ydb_stdout_stderr_adjust_t",
    "ydb_call_variadic_plist_func",
    "ydb_main_lang_init",
    "ydb_mmrhash_32",
    "ydb_mmrhash_128",
    "ydb_mmrhash_128_ingest",
    "ydb_mmrhash_128_result",
    "ydb_mmrhash_128_bytes",
    "ydb_mmrhash_128_hex",
    "ydb_sig_dispatch",
    "ydb_ci",
    "ydb_ci_t",
    "ydb_cip",
    "ydb_cip_t",
    "ydb_cij",
    "ydb_ci_tab_open",
    "ydb_ci_tab_open_t",
    "ydb_ci_tab_switch",
    "ydb_ci_tab_switch_t",
    "ydb_ci_get_info",
    "ydb_ci_get_info_t",
};

/* run/symbols compares with the headers the other way round: nothing else is exported. */
static void the_library_has_every_function(void **state)
{
    const char *build = getenv("CARET_BUILD");
    char path[600];

    (void)state;
    if (build == NULL)
        skip();
    snprintf(path, sizeof path, "%s/yottadb/libyottadb.so", build);
    if (access(path, F_OK) != 0)
        skip(); /* this build has tests only */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fail_msg("%s", dlerror());
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (dlsym(library, names[i]) == NULL)
            fail_msg("%s is missing", names[i]);
    int (*zstatus)(char *, long) = (int (*)(char *, long))dlsym(library, "ydb_zstatus");
    char text[8] = "x";
    assert_int_equal(zstatus(text, sizeof text), YDB_OK);
    assert_string_equal(text, "");
}

/* All messages that can be asked for have names of their own, and the letter of their severity. */
static void every_error_has_a_message(void **state)
{
    static const int codes[] = {YDB_ERR_GVUNDEF,     YDB_ERR_UNIMPLOP,       YDB_ERR_NODEEND,
                                YDB_ERR_FATALERROR2, YDB_ERR_CALLINAFTERXIT, YDB_ERR_ZGBLDIRACC,
                                YDB_ERR_CINOENTRY};
    struct out o;

    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char letter[8] = {'%', 'Y', 'D', 'B', '-', "WSEIF"[-codes[i] & 7], '-', 0};
        assert_int_equal(ydb_message(codes[i], out(&o)), YDB_OK);
        assert_memory_equal(o.room, letter, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONCE(every_error_has_a_message),
        cmocka_unit_test(the_library_has_every_function),
    };
    make_folder();
    return remove_folder(cmocka_run_group_tests(tests, NULL, NULL));
}
