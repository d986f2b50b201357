/*
 * m.h - M's semantics, once, for all front-ends that speak to programs in M's and YottaDB's terms.
 *
 *     errors.def       names, numbers and texts of errors: one table        error.h: asking it, wording errors
 *     constants.def    limits and the other constants that programs see     limits.h: the same in C
 *     special.h        special variables
 *     settings.h       what the environment says, and which file a database is in
 *     locals.h         copies of local variables, for what begins again
 *     long.h           local variables whose keys are too long for the engine
 *     place.h          a node of the engine's, or one of those
 *     transaction.h    the transaction loop: begin, settle, begin again
 *     held.h           locks taken in a transaction, carried through its restarts
 *     text.h           ZWR text as M writes and reads it; characters, and text that grows
 *     json.h           a subtree as JSON, and back
 *     number.h         M's decimal arithmetic
 *     machine.h        M itself, for programs that call it: caret_m.so
 *
 * USED BY: libyottadb.so, the Lua modules, and an M runtime.  It is linked into each as it is.
 * USES: caret.h, and of the engine only what is pure: the arithmetic of base/decimal.h and base/number.h
 * (number.h hands it on), and keys, base/key.h.  It knows neither Lua nor the types of libyottadb.h, and
 * calls no front-end but through what that passes.  It takes no lock: what a process shares (local
 * variables, locks) is guarded by the front-end that shares it.
 *
 * Names between its files and for its users begin with caret_m__.  An M error is a negative code of
 * errors.def; where Caret's own codes and M's could both be, the function says which.
 */
#ifndef CARET_M_H
#define CARET_M_H

#include "m/error.h"
#include "m/limits.h"

#endif
