/*
 * bitmap.h - what the commands of bits and of fields of bits share.
 */
#ifndef CARET_SERVER_BITMAP_H
#define CARET_SERVER_BITMAP_H

#include "server/call.h"

/* The position of a bit within what a string may have; with a width "#3" is three fields of so many bits. */
int serve__bit_offset(struct serve__call *q, caret_slice text, unsigned width, uint64_t *at);

#endif
