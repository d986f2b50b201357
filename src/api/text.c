/*
 * text.c - ZWR text at the public interface; base/zwr.h has the form.
 */
#include <string.h>

#include "api/node.h"
#include "base/error.h"
#include "base/key.h"
#include "base/zwr.h"

/* Text in, and room for what comes out. */
static int text_check(const char *function, const void *in, size_t n, const char *buf, size_t cap,
                      const size_t *len)
{
    if (!caret__bytes_ok(in, n))
        return caret__refuse_bytes(function, "in", in, n);
    if (!caret__bytes_ok(buf, cap))
        return caret__refuse_bytes(function, "buf", buf, cap);
    return len != NULL ? CARET_OK : caret__null(function, "len", "a place for the length");
}

int caret_str2zwr(const void *in, size_t n, int utf8, char *buf, size_t cap, size_t *len)
{
    int rc = text_check(__func__, in, n, buf, cap, len);

    if (rc != CARET_OK)
        return rc;
    return caret__zwr_put(in, n, utf8 != 0, buf, cap, len);
}

int caret_zwr2str(const char *in, size_t n, int utf8, char *buf, size_t cap, size_t *len)
{
    int rc = text_check(__func__, in, n, buf, cap, len);

    if (rc != CARET_OK)
        return rc;
    return caret__zwr_get(in, n, utf8 != 0, buf, cap, len);
}

int caret_node_zwr(const caret_node *n, int utf8, char *buf, size_t cap, size_t *len)
{
    const struct caret__node *node = caret__node_const(n);
    int rc = text_check(__func__, "", 0, buf, cap, len);

    if (rc == CARET_OK && !caret__node_whole(n))
        rc = caret__not_a_node(__func__, "n", n);
    if (rc != CARET_OK)
        return rc;
    return caret__zwr_put_key(caret__node_key(node), node->key_len, node->local, utf8 != 0, buf, cap, len);
}

int caret_node_parse(caret_node *n, size_t bytes, const char *text, size_t len, int utf8)
{
    uint8_t key[CARET__KEY_MAX];
    size_t key_len;
    bool local;
    int rc;

    if (n == NULL)
        return caret__null(__func__, "n", "memory for a node");
    if (!caret__bytes_ok(text, len))
        return caret__refuse_bytes(__func__, "text", text, len);
    rc = caret__zwr_get_key(text != NULL ? text : "", len, utf8 != 0, key, &key_len, &local);
    return rc == CARET_OK ? caret__node_make(n, bytes, local, key, key_len) : rc;
}
