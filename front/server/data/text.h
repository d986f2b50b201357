/*
 * text.h - texts of a DUMP payload (codec/rdb.h): read, and written.
 */
#ifndef CARET_SERVER_TEXT_H
#define CARET_SERVER_TEXT_H

#include "server/call.h"
#include "server/codec/rdb.h"

/* ERR Bad data format. */
int serve__bad_payload(struct serve__call *q);

/* A text that was read: where it is, or unpacked at the end of q->r->work.  Whoever reads sets the length of that
 * back, when the texts are not needed any more. */
struct serve__text {
    struct caret_codec__rdb_text t;
    size_t at;
};
int serve__text_read(struct serve__call *q, struct caret_codec__reader *r, struct serve__text *x);

/* Its bytes.  They live until the next text is read. */
caret_slice serve__text_slice(const struct serve__call *q, const struct serve__text *x);

void serve__add_length(struct serve__buffer *b, uint64_t n);
void serve__add_text(struct serve__buffer *b, caret_slice text);

#endif
