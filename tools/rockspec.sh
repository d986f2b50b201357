#!/bin/sh
# tools/rockspec.sh: prints caret-scm-1.rockspec, whose list of sources must be what is there.
# tools/rockspec.sh >caret-scm-1.rockspec after a file was added; tools/style.sh compares.
cd "$(dirname "$0")/.." || exit 1
cat <<'HEAD'
-- Made by tools/rockspec.sh.  `luarocks make` builds the Lua module with nothing but a C compiler and Lua's
-- headers; the tool, the C library and the tests come with `make`.
rockspec_format = "3.0"
package = "caret"
version = "scm-1"
source = {url = "git+file://."}
description = {
    summary = "A hierarchical key-value database that lives inside the process",
    detailed = [[
Nodes like ^oaks(1,"shadow"), ordered, shared by many processes through memory
instead of a server, with transactions and locks.  A node is a Lua object:
oaks[1].shadow.__ = 10]],
    license = "MIT",
}
supported_platforms = {"linux"}
dependencies = {"lua >= 5.1, < 5.6"}
build = {
    type = "builtin",
    modules = {
HEAD
module() # name file
{
    name=${1%.lua}
    name=${name%/init}
    printf '        ["%s"] = "%s",\n' "$(printf %s "$name" | tr / .)" "$2"
}
for file in front/lua/*/*.lua; do module "${file#front/lua/}" "$file"; done
for file in front/yottadb/lua/*.lua front/yottadb/lua/*/*.lua; do [ -f "$file" ] && module "${file#front/yottadb/lua/}" "$file"; done
printf '        ["caret.core"] = {\n            sources = {\n'
for folder in $(sed -n 's/^engine //p' layers | tr ' ' '\n' | sed 's|^|src/|') front/m front/lua; do
    for file in "$folder"/*.c; do printf '                "%s",\n' "$file"; done
done
cat <<'TAIL'
            },
            incdirs = {"include", "src", "front"},
            defines = {"_GNU_SOURCE", "NDEBUG"},
            libraries = {"pthread", "m", "dl"},
        },
    },
}
TAIL
