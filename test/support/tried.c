#include "support/tried.h"

#include <ctype.h>
#include <stdbool.h>

#define NOTES_MAX 1000u
#define PARTS_MAX 16u

static const char *notes[NOTES_MAX];
static size_t nnotes;

void note(const char *call)
{
    assert_true(nnotes < NOTES_MAX);
    notes[nnotes++] = call;
}

void refused(const char *call, int rc, int code, const char *symbol, const char *words, int line)
{
    char name[64] = "", expected[80];

    note(call);
    snprintf(name, sizeof name, "%.*s: ", (int)strcspn(call, "("), call);
    snprintf(expected, sizeof expected, "%s: %s", symbol, code == CARET_E_INVALID ? name : "");
    if (rc != code || strncmp(caret_message(), expected, strlen(expected)) != 0 ||
        strstr(caret_message(), words) == NULL)
        fail_msg("line %d: %s = %d: %s", line, call, rc, caret_message());
}

void answered(const char *call, int got, int value, int line)
{
    note(call);
    if (got != value)
        fail_msg("line %d: %s = %d, not %d: %s", line, call, got, value, caret_message());
}

/* Cut text at the commas outside of parentheses; its parts, and how many. */
static unsigned cut(char *text_, char *part[PARTS_MAX])
{
    unsigned count_ = 0, depth = 0;

    for (char *p = text_; *p != 0 && count_ < PARTS_MAX; p++) {
        if (p == text_ || (p[-1] == 0 && depth == 0))
            part[count_++] = p;
        depth += *p == '(' || *p == '[';
        depth -= *p == ')' || *p == ']';
        if (*p == ',' && depth == 0)
            *p = 0;
    }
    return count_;
}

/* Was the function called with that for its argument i? */
static bool was_called(const char *function, unsigned i, const char *with)
{
    char call[400], *part[PARTS_MAX];
    size_t name = strlen(function);

    for (size_t k = 0; k < nnotes; k++) {
        if (strncmp(notes[k], function, name) != 0 || notes[k][name] != '(')
            continue;
        if (with == NULL)
            return true;
        snprintf(call, sizeof call, "%s", notes[k] + name + 1);
        *strrchr(call, ')') = 0;
        if (cut(call, part) > i && strcmp(part[i] + strspn(part[i], " "), with) == 0)
            return true;
    }
    return false;
}

/* What an argument that is declared so has to be tried with; NULL: nothing. */
static const char *trial(const char *declared)
{
    if (strchr(declared, '*') != NULL || strchr(declared, '[') != NULL)
        return strstr(declared, "void *arg") != NULL || strstr(declared, "progress_arg") != NULL ? NULL
                                                                                                 : "NULL";
    if (strstr(declared, "size_t ") != NULL)
        return "SIZE_MAX";
    if (strstr(declared, "double ") != NULL)
        return "NAN";
    return strstr(declared, "int flags") != NULL ? "-1" : NULL;
}

static unsigned missing(char *declaration)
{
    char *open = strchr(declaration, '('), *name = open, *part[PARTS_MAX];
    unsigned found = 0, count_;

    *strrchr(declaration, ')') = 0;
    *open = 0;
    while (name > declaration && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
        name--;
    if (!was_called(name, 0, NULL)) {
        print_error("%s is not tested\n", name);
        return 1;
    }
    count_ = cut(open + 1, part);
    for (unsigned i = 0; i < count_; i++) {
        const char *with = trial(part[i]);
        if (with == NULL || was_called(name, i, with))
            continue;
        print_error("%s: not tested with %s for '%s'\n", name, with, part[i]);
        found++;
    }
    return found;
}

unsigned missing_trials(const char *header_name, unsigned *functions)
{
    static char header[200000], declaration[1000];
    FILE *f = fopen(header_name, "r");
    unsigned found = 0;

    assert_non_null(f);
    header[fread(header, 1, sizeof header - 1, f)] = 0;
    fclose(f);
    *functions = 0;
    for (char *p = header; (p = strstr(p, "\nCARET_API ")) != NULL; p++) {
        snprintf(declaration, sizeof declaration, "%.*s", (int)strcspn(p + 1, ";"), p + 1);
        ++*functions;
        found += missing(declaration);
    }
    return found;
}
