#!/bin/sh
# Programs of M that grow, each under many limits of address space: test/run/m_limits.sh at length.

CARET_M_LIMITS=$(seq 60 "$((20 / ${CARET_TORTURE:-1} + 1))" 700)
CARET_M_GROWTH="nodes keys texts pieces levels blocks merge xecute lua patterns garbage order sets saved begun"
export CARET_M_LIMITS CARET_M_GROWTH
exec sh "$CARET_SOURCE/test/run/m_limits.sh"
