/*
 * Nodes that a program has overwritten: an error or an answer, and nothing beyond the node's memory is touched.
 */
#include "api/node.h"
#include "base/rand.h"

#include "things.h"

static void call_all(caret_node *x, bool writes)
{
    caret_slice v;
    int64_t i;
    int what;

    caret_node_size(x);
    caret_node_depth(x);
    caret_node_is_local(x);
    caret_node_equal(x, n);
    caret_node_compare(n, x);
    caret_node_is_child(x, n);
    caret_node_is_child(n, x);
    caret_node_name(x, buf);
    for (unsigned k = 0; k < 40; k++)
        caret_node_subscript(x, k, buf, sizeof buf, &len, NULL);
    caret_node_last_as_int(x, &i);
    caret_node_zwr(x, 0, buf, sizeof buf, &len);
    caret_node_child(to, sizeof room, x, "x", 1);
    caret_node_child_int(to, sizeof room, x, 7);
    caret_node_child_double(to, sizeof room, x, .5);
    caret_node_parent(to, sizeof room, x);
    if (caret_node_copy(to, sizeof room, x) == CARET_OK) {
        caret_node_set_last_int(to, 7);
        caret_node_copy(to, sizeof room, x);
        caret_node_set_last(to, "seven", 5);
    }
    caret_get(s, x, &v);
    caret_get_copy(s, x, buf, sizeof buf, &len);
    caret_data(s, x, &what);
    int (*const moves[])(caret_session *, caret_node *) = {caret_next, caret_previous,  caret_first,
                                                           caret_last, caret_node_next, caret_node_previous};
    for (size_t k = 0; k < sizeof moves / sizeof *moves; k++)
        if (caret_node_copy(to, sizeof room, x) == CARET_OK)
            moves[k](s, to);
    int (*const steps[])(caret_session *, caret_node *, caret_slice *) = {
        caret_next_get, caret_previous_get, caret_node_next_get, caret_node_previous_get};
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
        if (caret_node_copy(to, sizeof room, x) == CARET_OK)
            steps[k](s, to, &v);
    caret_get_many(s, &x, 1, &v);
    caret_prefetch(s, &x, 1);
    caret_lock(s, x, 0);
    caret_unlock_all(s);
    if (writes) {
        caret_set(s, x, "x", 1);
        caret_incr_int(s, x, 1, 0, &i);
        caret_delete(s, x);
        caret_kill(s, x);
    }
}

/* One field of the head that is not as it was. */
static void overwrite(struct caret__node *head, struct caret__rand *r)
{
    static const uint16_t edges[] = {0, 1, 2, 0xff, CARET__KEY_MAX, CARET__KEY_MAX + 1, 0x7fff, 0xffff};
    uint32_t which = caret__rand_below(r, 6);
    uint16_t word =
        caret__rand_below(r, 2) ? edges[caret__rand_below(r, 8)] : (uint16_t)caret__rand_below(r, 65536);

    if (which == 0)
        head->key_len = word;
    else if (which == 1)
        head->last_off = word;
    else if (which == 2)
        head->name_len = (uint8_t)word;
    else if (which == 3)
        head->depth = (uint8_t)word;
    else if (which == 4)
        caret__hint_put(head, (struct caret__hint){word, word, word, word, word});
    else
        head->magic = word;
}

/*
 * Whatever the head of a node says, nothing beyond its memory is touched (AddressSanitizer looks); its room is what the
 * caller said.  Keys of locals are read and written, those of globals read.  A wrong hint is never a wrong answer.
 */
static void overwritten_nodes(void **state)
{
    (void)state;
    struct caret__rand r;
    caret_slice v;

    caret__rand_seed(&r, 1);
    for (unsigned round = 0; round < 3000; round++) {
        caret_node_buf *x = malloc(sizeof *x);
        *x = round % 2 ? local : made;
        for (uint32_t times = 1 + caret__rand_below(&r, 3); times > 0; times--)
            overwrite(caret__node(&x->node), &r);
        call_all(&x->node, round % 2);
        free(x);
        x = malloc(sizeof *x);
        *x = made;
        OK(caret_get(s, &x->node, &v));
        struct caret__hint h = caret__hint_get(caret__node(&x->node));
        h.pos = (uint16_t)caret__rand_below(&r, 65536);
        h.version = caret__rand_below(&r, 2) ? h.version - 1 : UINT64_MAX;
        caret__hint_put(caret__node(&x->node), h);
        OK(caret_get(s, &x->node, &v));
        assert_int_equal(v.len, 5);
        assert_memory_equal(v.data, "value", 5);
        caret__node(&x->node)->magic++; /* all else is as in a node */
        assert_int_equal(caret_get(s, &x->node, &v), CARET_E_INVALID);
        free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(overwritten_nodes, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
