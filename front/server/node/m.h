/*
 * m.h - clients in line for the worker's machine of M: m.c.
 */
#ifndef CARET_SERVER_M_H
#define CARET_SERVER_M_H

#include "server/worker.h"

/* CARET.M is to be run: false, if it may be now; else the client got in line, or was refused. */
bool serve__m_takes(struct serve__call *q);

/* Each turn: call the next one in line, if nobody runs. */
void serve__m_turn(struct serve__worker *w);

#endif
