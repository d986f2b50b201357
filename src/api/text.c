/*
 * text.c - ZWR text at the public interface; base/zwr.h has the form.
 */
#include <string.h>

#include "api/node.h"
#include "base/error.h"
#include "base/key.h"
#include "base/zwr.h"

int caret_str2zwr(const void *in, size_t n, int utf8, char *buf, size_t cap, size_t *len)
{
    if ((in == NULL && n > 0) || len == NULL)
        return caret__fail(CARET_E_INVALID, "the %s is NULL", len == NULL ? "place for the length" : "text");
    return caret__zwr_put(in, n, utf8 != 0, buf, cap, len);
}

int caret_zwr2str(const char *in, size_t n, int utf8, char *buf, size_t cap, size_t *len)
{
    if ((in == NULL && n > 0) || len == NULL)
        return caret__fail(CARET_E_INVALID, "the %s is NULL", len == NULL ? "place for the length" : "text");
    return caret__zwr_get(in, n, utf8 != 0, buf, cap, len);
}

int caret_node_zwr(const caret_node *n, int utf8, char *buf, size_t cap, size_t *len)
{
    const struct caret__node *node = caret__node_const(n);

    if (!caret__node_ok(n) || len == NULL)
        return caret__fail(CARET_E_INVALID, "%s",
                           len == NULL ? "the place for the length is NULL" : "not a node");
    return caret__zwr_put_key(caret__node_key(node), node->key_len, node->local, utf8 != 0, buf, cap, len);
}

int caret_node_parse(caret_node *n, size_t bytes, const char *text, size_t len, int utf8)
{
    uint8_t key[CARET__KEY_MAX];
    size_t key_len;
    bool local;
    int rc;

    if (n == NULL || (text == NULL && len > 0))
        return caret__fail(CARET_E_INVALID, "the %s is NULL", n == NULL ? "node" : "text");
    rc = caret__zwr_get_key(text, len, utf8 != 0, key, &key_len, &local);
    return rc == CARET_OK ? caret__node_make(n, bytes, local, key, key_len) : rc;
}
