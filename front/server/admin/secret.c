/*
 * secret.c - passwords among arguments: secret.h.
 *
 *     AUTH, ACL SETUSER     all that follows
 *     HELLO, MIGRATE        two after AUTH and AUTH2; one after the AUTH of MIGRATE
 *     CONFIG SET            the value after the name of a parameter that is one, or is a user
 */
#include "server/admin/secret.h"

#include "server/command.h"

/* Is one of the n arguments before i, from the third on, that word? */
static bool follows(const struct serve__call *q, int i, int n, const char *word)
{
    for (int k = i - n; k < i; k++)
        if (k > 1 && serve__is(&q->argv[k], word))
            return true;
    return false;
}

static bool is_secret_parameter(const caret_slice *name)
{
    static const char *const names[] = {"requirepass", "masterauth", "masteruser", "tls-key-file-pass",
                                        "tls-client-key-file-pass"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (serve__is(name, names[i]))
            return true;
    return false;
}

static bool is_secret(const struct serve__call *q, int i)
{
    if (q->cmd->run == serve__cmd_auth)
        return i > 0;
    if (q->cmd->run == serve__cmd_acl_setuser)
        return i > 1;
    if (q->cmd->run == serve__cmd_hello)
        return follows(q, i, 2, "auth");
    if (q->cmd->run == serve__cmd_migrate)
        return follows(q, i, 1, "auth") || follows(q, i, 2, "auth2");
    return q->cmd->run == serve__cmd_config_set && i > 2 && i % 2 == 1 &&
           is_secret_parameter(&q->argv[i - 1]);
}

caret_slice serve__argument_told(const struct serve__call *q, int i)
{
    return is_secret(q, i) ? (caret_slice){"(redacted)", 10} : q->argv[i];
}
