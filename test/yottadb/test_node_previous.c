/* ydb_node_previous_s, ydb_node_previous_st: walk.h in this direction. */
#include "yottadb/api.h"

#define step node_previous
#define BACK 1
#include "yottadb/walk.h"
