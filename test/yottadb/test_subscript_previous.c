/* ydb_subscript_previous_s, ydb_subscript_previous_st: siblings.h in this direction. */
#include "yottadb/api.h"

#define step sub_previous
#define BACK 1
#include "yottadb/siblings.h"
