/*
 * limits.h - limits that follow from the size of a page.
 *
 * A page must always have room for its fence and two maximal entries, so the
 * length of a key depends on the page size: 4 KiB pages allow 1,015 bytes, the
 * 512-byte pages of the `small` build 117.
 */
#ifndef CARET_BASE_LIMITS_H
#define CARET_BASE_LIMITS_H

/* Most bytes of an encoded key: name, 0x00, subscripts. */
#ifdef CARET_SMALL
#define CARET__KEY_MAX 117u
#else
#define CARET__KEY_MAX 1015u
#endif

#endif
