$CALLS/external.so
add: ydb_int_t add(I:ydb_int_t, IO:ydb_int64_t*, IO:ydb_double_t *, IO:ydb_char_t *[20], O:ydb_string_t* [10], IO:ydb_buffer_t*) : SIGSAFE
fails: ydb_status_t fails()
intexp : void nothing(O:ydb_char_t**)
ret: ydb_long_t* ret(I:ydb_ulong_t)
rets: ydb_char_t* rets()
leave: ydb_status_t leave()
again: int again(I:int)
nope: void nope()
look: ydb_char_t* look(I:ydb_char_t*)
stay: void stay(I:ydb_int_t, I:ydb_int_t)
deeper: ydb_char_t* deeper(I:ydb_int_t)
