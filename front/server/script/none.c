/*
 * none.c - scripts and functions of a server that was built without Lua: all answer so.
 */
#include "server/call.h"
#include "server/pipeline.h"

static int none(struct serve__call *q)
{
    return serve__fail(q, "ERR this server was built without Lua: it has no scripts and no functions");
}

int serve__cmd_eval(struct serve__call *q)
{
    return none(q);
}

int serve__cmd_eval_ro(struct serve__call *q)
{
    return none(q);
}

int serve__cmd_evalsha(struct serve__call *q)
{
    return none(q);
}

int serve__cmd_evalsha_ro(struct serve__call *q)
{
    return none(q);
}

int serve__cmd_fcall(struct serve__call *q)
{
    return none(q);
}

int serve__cmd_fcall_ro(struct serve__call *q)
{
    return none(q);
}

int serve__cmd_script_load(struct serve__call *q)
{
    return none(q);
}

int serve__cmd_function_load(struct serve__call *q)
{
    return none(q);
}

unsigned serve__script_row(struct serve__worker *w, struct serve__conn *c, struct serve__pipeline *p,
                           unsigned i)
{
    (void)w;
    (void)c;
    (void)p;
    (void)i;
    return 0;
}
