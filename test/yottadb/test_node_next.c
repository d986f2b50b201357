/* ydb_node_next_s, ydb_node_next_st: walk.h in this direction. */
#include "yottadb/api.h"

#define step node_next
#define BACK 0
#include "yottadb/walk.h"
