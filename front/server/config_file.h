/*
 * config_file.h - redis.conf: what the server reads before it starts, and CONFIG REWRITE.
 *
 * A line is a parameter (config.def) or one of `include`, `rename-command` and `user`.  What would promise something
 * that this server does not do ends the start: replicas, a cluster, modules.  Options of the command line are
 * lines too, and what comes later counts; so refusals look at what is left when all have been read.
 */
#ifndef CARET_SERVER_CONFIG_FILE_H
#define CARET_SERVER_CONFIG_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct serve__shared;

/* Read a file.  false: error (a text of `cap` bytes) says what is wrong. */
bool serve__config_file(struct serve__shared *s, const char *path, char *error, size_t cap);

/* An option --name value.  NULL, or what is wrong. */
const char *serve__config_option(struct serve__shared *s, const char *name, const char *value);

/* All has been read: is something promised that is not done, or does it not go together?  NULL, or what to do. */
const char *serve__config_refused(struct serve__shared *s, char *error, size_t cap);

/* Write the parameters as they are to the file that they were read from: its comments and its order stay; those at
 * their defaults that had no line get one only if all is wanted.  In a worker.  NULL, or what is wrong. */
struct serve__worker;
const char *serve__config_rewrite(struct serve__worker *w, bool all, char *error, size_t cap);

/* May another file take the place of what is there?  Not of a device or a pipe. */
bool serve__may_replace(const char *path);

#endif
