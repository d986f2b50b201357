/* ydb_subscript_next_s, ydb_subscript_next_st: siblings.h in this direction. */
#include "yottadb/api.h"

#define step sub_next
#define BACK 0
#include "yottadb/siblings.h"
