/* Fault points, which some builds have (docs/style.md). */
#ifndef CARET_TEST_SUPPORT_POINTS_H
#define CARET_TEST_SUPPORT_POINTS_H

/* Else the test is skipped. */
void need_points(void);

#endif
