/*
 * mhd.h - libmicrohttpd, loaded when a page is served and not before.
 *
 * The tool is started for a single `caret get`, too: that must not wait for an HTTP library and the TLS library
 * below it to be linked.  So the library is opened by name, and its functions are called through a table.
 */
#ifndef CARET_WEB_MHD_H
#define CARET_WEB_MHD_H

#include <stdbool.h>

#include <microhttpd.h>

#define CARET__MHD_FUNCTIONS(X)                                                                              \
    X(start_daemon)                                                                                          \
    X(stop_daemon)                                                                                           \
    X(quiesce_daemon)                                                                                        \
    X(run)                                                                                                   \
    X(get_timeout)                                                                                           \
    X(get_daemon_info)                                                                                       \
    X(get_connection_info)                                                                                   \
    X(get_connection_values_n)                                                                               \
    X(create_response_from_buffer)                                                                           \
    X(create_response_from_callback)                                                                         \
    X(destroy_response)                                                                                      \
    X(add_response_header)                                                                                   \
    X(queue_response)                                                                                        \
    X(suspend_connection)                                                                                    \
    X(resume_connection)                                                                                     \
    X(is_feature_supported)

struct caret__mhd {
#define X(name) __typeof__(&MHD_##name) name;
    CARET__MHD_FUNCTIONS(X)
#undef X
};

extern struct caret__mhd caret__mhd;

/* NULL, or what is wrong.  Before any of the functions is called. */
const char *caret__mhd_load(void);

#endif
