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

/*
 * Most bytes of a place that a search may be told: a key, or a key and one byte more, for what comes next (0) or after
 * all that is below it (0xff).  No such place is stored, so this byte has room after the longest key too.
 */
#define CARET__PLACE_MAX (CARET__KEY_MAX + 1u)

#endif
