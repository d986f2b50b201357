/*
 * exports.c - the table of functions for Lua, and its declaration: exports.def.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "m/settings.h"
#include "mumps/bridge/bridge.h"
#include "mumps/data/data.h"
#include "mumps/host/host.h"
#include "mumps/host/reserve.h"
#include "mumps/io/io.h"
#include "mumps/values/values.h"

/* clang-format off */
#define M_TYPE(...)
#define M_EXPORT(returns, name, arguments) returns(*name) arguments;
static const struct exports {
#include "mumps/host/exports.def"
    int end;
} exports = {
#undef M_EXPORT
#define M_EXPORT(returns, name, arguments) .name = name,
#include "mumps/host/exports.def"
    .end = 0,
};

/* Types come first, as the struct is a declaration of its own. */
#undef M_TYPE
#undef M_EXPORT
#define M_TYPE(...) #__VA_ARGS__ "\n"
#define M_EXPORT(returns, name, arguments)
static const char declaration[] =
#include "mumps/host/exports.def"
    "struct caret_mumps__exports {\n"
#undef M_TYPE
#undef M_EXPORT
#define M_TYPE(...)
#define M_EXPORT(returns, name, arguments) #returns " (*" #name ")" #arguments ";\n"
#include "mumps/host/exports.def"
    "int end; };";
/* clang-format on */

const void *caret_mumps__exports(const char **text, size_t *len)
{
    *text = declaration;
    *len = sizeof declaration - 1;
    return &exports;
}
