#!/bin/sh
# Each style check finds what it is there for: a clean little tree passes, and one
# planted fault after the other is reported by its check, at its place.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
tree=$dir/tree

clean_tree()
{
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/src/base" "$tree/src/tree" "$tree/src/log" "$tree/front/lua" "$tree/front/yottadb" "$tree/include" "$tree/docs" "$tree/tools"
    cp "$source/.clang-format" "$source/.luacheckrc" "$tree/"
    printf 'engine base\nengine tree log\nfront lua\nfront yottadb lua\n' >"$tree/layers"
    printf '#ifndef CARET_H\n#define CARET_H\n\n#define CARET_API\n\nCARET_API int caret_get(int n);\n\n#endif\n' \
        >"$tree/include/caret.h"
    printf '#ifndef CARET_KEY_H\n#define CARET_KEY_H\n\nint caret__key(int n);\n\n#endif\n' >"$tree/src/base/key.h"
    printf '#include "base/key.h"\n\nint caret__key(int n)\n{\n    CARET__ASSERT(n > 0);\n    return n;\n}\n' >"$tree/src/base/key.c"
    printf '#include "base/key.h"\n#include "caret.h"\n\nint caret_get(int n)\n{\n    return caret__key(n);\n}\n' \
        >"$tree/src/tree/get.c"
    printf '#include <lua.h>\n\n#include "caret.h"\n' >"$tree/front/lua/module.c"
    printf 'local n = 1\nreturn n\n' >"$tree/front/lua/module.lua"
    cp "$tree/front/lua/module.lua" "$tree/front/yottadb/"
    printf '#ifndef CARET_LOG_H\n#define CARET_LOG_H\n#endif\n' >"$tree/src/log/log.h"
    printf '# Title\n\n`base -> {tree, log} -> {lua, yottadb}`\n' >"$tree/README.md"
    printf '#!/bin/sh\necho yes\n' >"$tree/tools/yes.sh"
    printf '#!/bin/sh\necho sources\n' >"$tree/tools/rockspec.sh"
    echo sources >"$tree/caret-scm-1.rockspec"
    printf '# Title\n\nSee [the header](../include/caret.h).\n' >"$tree/docs/page.md"
}

check() { keep sh "$source/tools/style.sh" --root "$tree" "$@"; }

# finds check pattern: the check fails and reports a line like pattern
finds()
{
    check ${library:+--library "$library"} "$1"
    status=$?
    if grep -q "^$1: skipped" "$dir/out"; then
        skip "$(head -n 1 "$dir/out")"
    else
        [ $status != 0 ] && grep -q "$2" "$dir/out"
        note $? "check $1 does not report: $2 (status $status)"
    fi
    clean_tree
}

library=
clean_tree
check
note $? "the clean tree does not pass"

printf 'int caret__f(int  n);\n' >>"$tree/src/base/key.c"
finds format 'src/base/key.c:8: not as'

printf '#include "tree/get.h"\n' >>"$tree/src/base/key.c"
finds includes 'src/base/key.c:8: base may not include tree/get.h'
printf '#include "log/log.h"\n' >>"$tree/src/tree/get.c"
finds includes 'src/tree/get.c:8: tree may not include log/log.h: log is beside it'
printf '#include "base/key.h"\n' >>"$tree/front/lua/module.c"
finds includes 'front/lua/module.c:4: lua may include only caret.h'
printf '#include <base/key.h>\n' >>"$tree/src/tree/get.c"
finds includes 'src/tree/get.c:8: include <base/key.h>'
printf '#include "key.h"\n' >>"$tree/src/base/key.c"
finds includes 'src/base/key.c:8: include "key.h": write it from src/'
printf '#include "../base/key.h"\n' >>"$tree/src/tree/get.c"
finds includes 'src/tree/get.c:8: include ../base/key.h leaves'
printf '#include "base/key.h"\n' >>"$tree/include/caret.h"
finds includes 'include/caret.h:9: the public header'
printf '#include <lua.h>\n' >>"$tree/src/base/key.c"
finds includes 'src/base/key.c:8: only lua, tool, web, server, mumps and bench'

printf 'front none\n' >>"$tree/layers"
finds layers 'layers:1: there is no folder front/none'
mkdir "$tree/src/attic" && echo >"$tree/src/attic/a.c"
finds layers 'src/attic:1: not in the file layers'
printf '# Title\n' >"$tree/README.md"
finds layers 'README.md:1: the layers are written otherwise'
# many n: the folder log has n .c files, and more of other kinds
many()
{
    for i in $(seq "$1"); do echo >"$tree/src/log/$i.c"; done
    for i in $(seq 21); do echo >"$tree/src/log/$i.h" && echo >"$tree/front/lua/$i.c"; done
}
many 21
finds layers 'src/log:1: 21 .c files; 20 are the most'
many 20
check layers
note $? "a folder with 20 .c files does not pass"
clean_tree

printf 'int caret__f(struct caret__fd *f) { return f->unasked; }\n' >>"$tree/src/base/key.c"
finds descriptors 'src/base/key.c:8: a number that nobody asked about'

printf 'int key_h;\n' >"$tree/src/base/key.h"
finds guards 'src/base/key.h:1: no header guard'
printf '#ifndef CARET_KEY_H\n#define CARET_KAY_H\n#endif\n' >"$tree/src/base/key.h"
finds guards 'src/base/key.h:2: #ifndef CARET_KEY_H is not followed'
cp "$tree/src/base/key.h" "$tree/src/base/other.h"
finds guards 'header guard CARET_KEY_H is also that of'

# name_lock comment body: a function with that comment and that body
name_lock()
{
    printf '\n/* %s */\nint caret__f(int n)\n{\n    %s\n    return n;\n}\n' "$1" "$2" >>"$tree/src/base/key.c"
}

for words in 'Under the writer mutex: one.' 'One; the caller holds the flush mutex.' 'In the role: one.' 'The gate is ours.' \
    'Not under the
 * mutex.' 'Registry is locked.'; do
    name_lock "$words" 'CARET__ASSERT(n > 0);'
    finds assertions 'src/base/key.c:1[01]: caret__f() names a lock in its comment and asserts nothing about it'
done
name_lock 'Under the writer mutex.' 'CARET__HELD(&n);'
name_lock 'Not under the writer mutex.' 'CARET__NOT_HELD(&n);'
name_lock 'Under the writer mutex.' 'CARET__ASSERT(caret__writer_held(&n));'
name_lock 'The pages under the root.' ''
check assertions
note $? "functions that assert what their comments name do not pass"
clean_tree
printf '#ifndef CARET_KEY_H\n#define CARET_KEY_H\n\n/* Under the gate. */\nint caret__key(int n);\n\n#endif\n' >"$tree/src/base/key.h"
finds assertions 'src/base/key.h:5: caret__key() names a lock'
awk 'BEGIN { for (i = 0; i < 250; i++) print "#define N" i " CARET__ASSERT(1)\n_Static_assert(1, \"\");" }' >"$tree/src/tree/many.c"
finds assertions 'src:1: 1.[0-9] assertions at run time and 4[0-9][0-9].[0-9] static ones per 1,000 lines, 5 at run time'

printf '/* As caret__key() and base/key.c say, and the pages of caret__lost_*; not caret__lost. */\n' >>"$tree/src/tree/get.c"
finds names 'src/tree/get.c:8: caret__lost does not exist'
printf '/* See\n * tree/put.h. */\n' >>"$tree/src/tree/get.c"
finds names 'src/tree/get.c:9: tree/put.h does not exist'
printf '/* See key.c. */\n' >>"$tree/src/tree/get.c"
finds names 'src/tree/get.c:8: key.c lies in another folder'
printf '/* Begins with enter(). */\n' >>"$tree/src/tree/get.c"
finds names 'src/tree/get.c:8: enter does not exist'
printf -- '-- As lost.lua says.\n' >>"$tree/front/lua/module.lua"
finds names 'front/lua/module.lua:3: lost.lua does not exist'
printf 'Look into `src/base/lost.c`, rax.h.\n' >>"$tree/docs/page.md"
finds names 'docs/page.md:4: src/base/lost.c does not exist'
printf '/* caret__key(), caret_get(), get.c, base/key.h, <lua.h>, sigwait(2), tools/NAME.lua. */\n' >>"$tree/src/tree/get.c"
check names
note $? "names of what exists are findings"
clean_tree

printf 'struct a {\n    unsigned\n        n; /* long */\n};\n' >>"$tree/src/base/key.c"
finds scars 'src/base/key.c:10: a field torn from its type'
printf 'struct a {\n    struct caret__key\n        *key[3]; /* long */\n};\n' >>"$tree/src/base/key.c"
finds scars 'src/base/key.c:10: a field torn from its type'
printf 'static void f(void)\n{\n    if (a(1) && b(2,\n                  3)) /* a comment that is too long for it */\n        g();\n}\n' >>"$tree/src/base/key.c"
finds scars 'src/base/key.c:11: a line torn by its comment'
awk 'BEGIN { printf "/*"; for (i = 0; i < 117; i++) printf "x"; print "*/" }' >>"$tree/src/base/key.c"
finds scars 'src/base/key.c:8: 121 columns; 120 are the most'
awk 'BEGIN { for (i = 0; i < 41; i++) printf "of "; print "it" }' >>"$tree/docs/page.md"
finds scars 'docs/page.md:1: paragraphs with lines of over 120'
awk 'BEGIN { printf "|"; for (i = 0; i < 41; i++) printf "of|"; print ""; print "\n```"; for (i = 0; i < 99; i++) printf "of "; print "it\n```" }' \
    >>"$tree/docs/page.md"
check scars
note $? "wide tables and code are findings"
{
    printf -- '* item'
    for i in 1 2 3 4 5 6 7 8 9; do printf ' %d - and so many words' $i; done
    printf '\n  that go on\n'
} >"$dir/item.md"
awk -f "$source/tools/wrap.awk" "$dir/item.md" >"$dir/wrapped.md"
[ "$(tr -s ' \n' '  ' <"$dir/item.md")" = "$(tr -s ' \n' '  ' <"$dir/wrapped.md")" ] &&
    [ "$(grep -c "^  [^-]" "$dir/wrapped.md")" = 1 ] && [ "$(wc -l <"$dir/wrapped.md")" = 2 ]
note $? "a wrapped item is not the same item: $(cat "$dir/wrapped.md")"

# The words are put together here, as this file is looked at too.
printf '/* A lock is waited for: wh%s\n * comes first gets it. */\n' o >>"$tree/src/base/key.c"
finds words 'src/base/key.c:8: a bare .wh'
printf 'return "a process wh%s waits"\n' o >>"$tree/front/lua/module.lua"
finds words 'front/lua/module.lua:3: a bare .wh'
printf 'The last page, and the one be%s it.\n' hind >>"$tree/docs/page.md"
finds words 'docs/page.md:4: .behin.* is a place'
printf '# Be%s the loop\n' hind >>"$tree/tools/yes.sh"
finds words 'tools/yes.sh:3: .Behin.* is a place'
printf '/* This is\n * n%s list. */\n' o >>"$tree/include/caret.h"
finds words 'include/caret.h:10: .is no list.*say .is not.'
printf '/* Who waits? It asks who waits, and those who do, and whoever does; nothing is left behind, also behind a NAT.\n'"\
"' * There is no list, there can be no list, it is no longer a list. */\nint who, is, no, behind;\n' >>"$tree/src/tree/get.c"
printf 'Of `who` and `behind` it `is no X`.\n' >>"$tree/docs/page.md"
check words
note $? "right English is found: $(cat "$dir/out")"
clean_tree

awk 'BEGIN { for (i = 0; i < 801; i++) print "/* */" }' >"$tree/src/base/key.c"
finds length 'src/base/key.c:801: 801 lines'
awk 'BEGIN { print "local n = 1"; for (i = 1; i < 801; i++) print "n = n + 1"; print "return n" }' >"$tree/front/lua/module.lua"
finds length 'front/lua/module.lua:801: 802 lines'
awk 'BEGIN { print "\nint caret__long(void)\n{"; for (i = 0; i < 50; i++) print "    ;"; print "    return 1;\n}" }' >>"$tree/src/base/key.c"
finds length 'src/base/key.c:10: a function of 51 lines'
# Those of the function within are its own; strings and comments have words that are none.
awk 'BEGIN { for (i = 0; i < 40; i++) print "function Short.f" i "() end"
    print "local function f(n)"; for (i = 0; i < 40; i++) print "    n = n + 1 -- end"
    print "    local function g()"; for (i = 0; i < 40; i++) print "        n = \"end\""; print "    end\n    return g\nend\nreturn f" }' \
    >"$tree/front/lua/module.lua"
check length
note $? "two functions of 40 lines, one within the other, are not one of 80"
awk 'BEGIN { print "local function f(n)"; for (i = 0; i < 51; i++) print "    n = n + 1"; print "    return n\nend\nreturn f" }' \
    >"$tree/front/lua/module.lua"
finds length 'front/lua/module.lua:1: a function of 52 lines'

printf '# \tTab\n' >"$tree/docs/page.md"
finds whitespace 'docs/page.md:1: tab'
printf '# Title \n' >"$tree/docs/page.md"
finds whitespace 'docs/page.md:1: trailing'
printf '# Title\r\n' >"$tree/docs/page.md"
finds whitespace 'docs/page.md:1: carriage return'
printf '# Title' >"$tree/docs/page.md"
finds whitespace 'docs/page.md:0: no newline'

printf 'Look into %swork/here.\n' / >"$tree/docs/page.md"
finds paths 'docs/page.md:1: path of one machine'

printf 'unknown_function()\n' >"$tree/front/lua/module.lua"
finds lua 'front/lua/module.lua:1:'

printf '#!/bin/sh\nif true; then\n' >"$tree/tools/yes.sh"
finds shell 'tools/yes.sh:[23]: '

printf 'See [it](missing.md).\n' >"$tree/docs/page.md"
finds links 'docs/page.md:1: link to missing.md'
echo another >>"$tree/caret-scm-1.rockspec"
finds rock 'lists other sources'

# The symbols: a library with a stray name, an undeclared public one, and one missing.
if command -v cc >/dev/null && command -v ar >/dev/null; then
    library=$tree/libcaret.a
    make_library()
    {
        printf '%s\n' "$1" >"$tree/tools/symbols.c"
        cc -c -o "$tree/tools/symbols.o" "$tree/tools/symbols.c" && ar rcs "$library" "$tree/tools/symbols.o"
    }
    make_library 'int caret_get(int n) { return n; } int stray(void) { return 1; }'
    finds prefixes 'external symbol stray lacks'
    make_library 'int caret_get(int n) { return n; } int caret_secret(void) { return 1; }'
    finds prefixes 'caret_secret is not in include/caret.h'
    make_library 'int caret__key(int n) { return n; }'
    finds prefixes 'include/caret.h:6: caret_get is declared but not defined'
    make_library 'int caret_get(int n) { return n; }'
    check --library "$library" prefixes
    note $? "a library with the right symbols does not pass"

    # Files that lead to each other: four, and a fifth that leads to them; then five.
    circle=$tree/CMakeFiles/caret_objects.dir/src/log
    # make_circle file next: that uses a symbol of that one
    make_circle()
    {
        mkdir -p "$circle"
        printf 'int caret__%s(int n);\nint caret__%s(int n);\nint caret__%s(int n) { return caret__%s(n); }\n' \
            "$1" "$2" "$1" "$2" >"$tree/src/log/$1.c"
        cc -O0 -c -o "$circle/$1.c.o" "$tree/src/log/$1.c"
    }
    make_circles()
    {
        make_circle one two
        make_circle two three
        make_circle three four
        make_circle four "$1"
        make_circle five one
    }
    make_circles one
    check --library "$library" circles
    note $? "a circle of four files does not pass"
    make_circles five
    finds circles 'src/log/five.c:1: one of 5 files that refer to each other; 4 are the most'
fi

finish
