/*
 * schema.c - the tables on the server: looked for, made if they are not there, and of the layout that we know.
 *
 *     <schema>.nodes    k, v               the nodes: encoded key, value
 *     <schema>.tokens   t, state, at       commits that a connection may have been lost at (commit.c)
 *     <schema>.meta     name, value        layout, uuid, product
 *
 * They are made in one transaction, of which `meta` is the last part: where meta can be read, all is there.  Of
 * several processes that make them at once one succeeds; the others fail, whatever they fail with, look again, and
 * find it.
 *
 * The owner of the tables needs the right to make them; whoever only works with them needs
 *     grant usage on schema caret;  grant select, insert, update, delete on all tables in schema caret;
 * and whoever only reads needs select.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "postgres/inside.h"
#include "shm/engine.h"

#define LAYOUT "1"
#define TRIES  20

static void add_format(struct caret__link *l, const char *format, const char *schema)
{
    char text[512];

    snprintf(text, sizeof text, format, schema);
    caret__link_add_text(l, text, 0, NULL);
}

static void hash_uuid(struct caret__pg_db *db, const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (; *text != '\0'; text++)
        h = (h ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    db->names_seed = h;
}

/* What meta says. */
static int take_meta(struct caret__pg_db *db, struct caret__link *l)
{
    const struct pg_result *r = caret__link_rows(l, 0);
    const char *layout = NULL, *uuid = NULL;

    for (int i = 0; r != NULL && i < caret__pq.rows(r); i++) {
        const char *name = caret__pq.value(r, i, 0);
        if (strcmp(name, "layout") == 0)
            layout = caret__pq.value(r, i, 1);
        else if (strcmp(name, "uuid") == 0)
            uuid = caret__pq.value(r, i, 1);
    }
    if (layout == NULL || uuid == NULL)
        return caret__fail(CARET_E_FOREIGN, "%s: the table %s.meta is not Caret's", db->head.shown,
                           db->way.schema);
    if (strcmp(layout, LAYOUT) != 0)
        return caret__fail(CARET_E_VERSION, "%s: its tables have layout %s; this library knows " LAYOUT,
                           db->head.shown, layout);
    hash_uuid(db, uuid);
    return CARET_OK;
}

/* NONE: there is nothing. */
static int look(struct caret__pg_db *db, struct caret__link *l)
{
    add_format(l, "select name, value from %s.meta", db->way.schema);
    int rc = caret__link_run(l);

    if (rc == CARET_OK)
        return take_meta(db, l);
    if (rc == CARET__LINK_FAILED && (strcmp(l->state, "42P01") == 0 || strcmp(l->state, "3F000") == 0))
        return CARET_NONE;
    return rc == CARET__LINK_FAILED ? caret__sqlstate_fail(l, db->head.shown) : rc;
}

static bool has_schema(struct caret__pg_db *db, struct caret__link *l)
{
    add_format(l, "select 1 from information_schema.schemata where schema_name = '%s'", db->way.schema);
    return caret__link_run(l) == CARET_OK && caret__link_rows(l, 0) != NULL &&
           caret__pq.rows(caret__link_rows(l, 0)) != 0;
}

static void add_nodes(struct caret__pg_db *db, struct caret__link *l)
{
    const char *s = db->way.schema;

    if (db->product == CARET__PG_POSTGRES) {
        add_format(l, "create table %s.nodes(k bytea primary key, v bytea not null) with (fillfactor = 90)",
                   s);
        add_format(l, "alter table %s.nodes alter column v set storage external", s);
    } else if (db->product == CARET__PG_YUGABYTE) /* else hashed, and every walk would read all */
        add_format(l, "create table %s.nodes(k bytea, v bytea not null, primary key (k asc))", s);
    else
        add_format(l, "create table %s.nodes(k bytea primary key, v bytea not null)", s);
}

static void put_uuid(char text[33])
{
    uint8_t b[16];

    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        caret__put_le64(b, caret__now_ns());
    for (int i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", b[i]);
}

static int make(struct caret__pg_db *db, struct caret__link *l)
{
    const char *s = db->way.schema;
    char uuid[33], text[512];
    bool there = has_schema(db, l);

    put_uuid(uuid);
    caret__link_add_text(l, "begin", 0, NULL);
    if (!there)
        add_format(l, "create schema %s", s);
    add_nodes(db, l);
    add_format(l,
               "create table %s.tokens(t bytea primary key, state \"char\" not null, "
               "at timestamptz not null default now())",
               s);
    add_format(l, "create table %s.meta(name text primary key, value text not null)", s);
    snprintf(text, sizeof text,
             "insert into %s.meta values ('layout', '" LAYOUT "'), ('uuid', '%s'), ('server', '%s')", s, uuid,
             db->server);
    caret__link_add_text(l, text, 0, NULL);
    caret__link_add_text(l, "commit", 0, NULL);
    return caret__link_run(l);
}

/* Why it could not be made. */
static int refused(struct caret__pg_db *db, struct caret__link *l, int rc)
{
    char state[6], why[256];

    if (rc != CARET__LINK_FAILED)
        return caret__fail(CARET_E_IO, "%s: %s", db->head.shown, l->text);
    memcpy(state, l->state, sizeof state);
    snprintf(why, sizeof why, "%.250s", l->text);
    caret__link_add_text(l, "rollback", 0, NULL);
    caret__link_run(l);
    memcpy(l->state, state, sizeof state);
    snprintf(l->text, sizeof l->text, "the tables of schema %s can't be made: %s", db->way.schema, why);
    return caret__sqlstate_fail(l, db->head.shown);
}

int caret__pg_schema(struct caret__pg_db *db, struct caret__link *l)
{
    int rc = look(db, l);

    if (rc == CARET_NONE && (db->no_create || db->read_only))
        return caret__fail(CARET_E_NOTFOUND, "%s: there is no database in schema %s", db->head.shown,
                           db->way.schema);
    for (int i = 0; rc == CARET_NONE; i++) {
        int made = make(db, l), why = made == CARET_OK ? CARET_OK : refused(db, l, made);
        rc = look(db, l);
        if (rc == CARET_NONE && (made != CARET__LINK_FAILED || why == CARET_E_OPEN || i == TRIES))
            return why == CARET_OK || why == CARET_RESTART
                       ? caret__fail(CARET_E_IO, "%s: its tables can't be made", db->head.shown)
                       : why;
        if (rc == CARET_NONE)
            caret__nap(10000000);
    }
    return rc;
}
