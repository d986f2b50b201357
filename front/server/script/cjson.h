/*
 * cjson.h - the settings of the module cjson, which cjson_encode.c and cjson_decode.c share.
 */
#ifndef CARET_SERVER_SCRIPT_CJSON_H
#define CARET_SERVER_SCRIPT_CJSON_H

#include "server/script/out.h"

/* Tables in each other, whatever a script sets: what the C stack has to bear. */
#define CARET_CODEC__JSON_DEPTH 2500

enum caret_codec__json_invalid { CARET_CODEC__JSON_REFUSE, CARET_CODEC__JSON_ACCEPT, CARET_CODEC__JSON_NULL };

struct caret_codec__json {
    struct caret_codec__out out; /* first: caret_codec__out() */
    int encode_depth, decode_depth;
    int precision;      /* digits of a number */
    int sparse_convert; /* a sparse array becomes an object instead of an error */
    int sparse_ratio;   /* it is sparse if the largest index is above ratio * elements, 0: never */
    int sparse_safe;    /* and above this */
    int keep;           /* only stored */
    int encode_invalid, decode_invalid; /* enum caret_codec__json_invalid */
};

static inline struct caret_codec__json *caret_codec__json(lua_State *L)
{
    return (struct caret_codec__json *)lua_touserdata(L, lua_upvalueindex(1));
}

int caret_codec__json_encode(lua_State *L);
int caret_codec__json_decode(lua_State *L);

#endif
