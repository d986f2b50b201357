#!/bin/sh
# Every style rule that a program can check; docs/style.md gives the reasons.
#
#   tools/style.sh [--root folder] [--library libcaret.a] [check...]
#
# Prints each finding as file:line: text, then one line for each check. The last
# line is "N passed, N failed, N skipped", the exit status 1 if any check failed.
# The symbols are those of build/libcaret.a, or of build-small/ or the given one.

set -u
tools=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
library=
while [ $# -gt 0 ]; do
    case $1 in
    --root) root=$2 && shift 2 ;;
    --library) library=$(realpath "$2") && shift 2 ;;
    *) break ;;
    esac
done
cd "$root" || exit 1
for candidate in build-small/libcaret.a build/libcaret.a; do
    [ -z "$library" ] && [ -f "$candidate" ] && library=$candidate
done

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
findings=$scratch/findings

# Committed files and those about to be: not what .gitignore names.
if git rev-parse --show-toplevel >/dev/null 2>&1 && [ "$(git rev-parse --show-toplevel)" = "$(pwd -P)" ]; then
    git ls-files --cached --others --exclude-standard | sort -u
else
    find . -type f -not -path './build*' -not -path './.git/*' | sed 's|^\./||' | sort
fi | while read -r file; do [ -f "$file" ] && echo "$file"; done >"$scratch/files"

c_files() { grep -E '^(src|front|include|test|bench)/.*\.[ch]$' "$scratch/files"; }
engine_files() { c_files | grep '^src/'; }
shell_files() { grep -E '\.sh$|^\.ci/run$' "$scratch/files"; }
lua_files() { grep -E '\.lua$' "$scratch/files"; }

# Each check prints its findings, or a line "SKIP reason"; a line "NOTE text" is not one. Two findings at one place
# are two lines.

# clang-format 14, as other versions disagree about details.
check_format()
{
    formatter=
    for program in clang-format-14 clang-format; do
        if command -v $program >/dev/null && $program --version | grep -q 'version 14\.'; then
            formatter=$program
            break
        fi
    done
    if [ -z "$formatter" ]; then
        echo "SKIP clang-format 14 is not installed"
        return
    fi
    c_files | xargs -n 40 -P 2 "$formatter" --style=file --dry-run 2>&1 |
        sed -n 's/^\(.*:[0-9]*\):[0-9]*: warning: code should be clang-formatted.*/\1: not as clang-format writes it/p' |
        sort -u
}

# Layers use only what is below them; binding, tool and benchmarks only the public header, and what `layers` says.
check_includes()
{
    c_files | grep -E '^(src|front|include|bench)/' | while read -r file; do
        awk -v file="$file" '
        BEGIN {
            while ((getline line < "layers") > 0) {
                n = split(line, word, " ")
                if (word[1] == "engine") lines++
                if (word[1] == "engine") for (i = 2; i <= n; i++) rank[word[i]] = lines
                if (word[1] == "front") for (i = 3; i <= n; i++) uses[word[2], word[i]] = 1
            }
            split(file, part, "/")
            own = part[1] == "src" || part[1] == "front" ? part[2] : part[1]
        }
        function finding(text) { print file ":" FNR ": " text }
        /^[ \t]*#[ \t]*include/ {
            if (!match($0, /[<"][^>"]*[>"]/)) next
            quoted = substr($0, RSTART, 1) == "\""
            name = substr($0, RSTART + 1, RLENGTH - 2)
            split(name, step, "/")
            from = name ~ /\// ? step[1] : ""
            if (name ~ /\.\./) finding("include " name " leaves its folder")
            else if (!quoted) {
                if (from in rank) finding("include <" name "> of a file of ours: write \"" name "\"")
                if (name ~ /^(lua|lauxlib|lualib|luajit)/ && own != "lua" && own != "tool" && own != "web" && own != "server" && own != "mumps" && own != "bench")
                    finding("only lua, tool, web, server, mumps and bench know Lua")
            } else if (name == "caret.h" || (own == "bench" && name == "yottadb/libyottadb.h")) {
            } else if (file ~ /^include\/yottadb\// && from == "") {
            } else if (own == "include") finding("the public header includes only system headers")
            else if (from == own || (from == "" && own == "bench")) {
            } else if (own in rank) {
                if (from == "") finding("include \"" name "\": write it from src/, \"" own "/" name "\"")
                else if (!(from in rank)) finding(own " may not include " name)
                else if (rank[from] > rank[own]) finding(own " may not include " name ": " from " is above it")
                else if (rank[from] == rank[own]) finding(own " may not include " name ": " from " is beside it")
            } else if (!((own, from) in uses || (own, name) in uses)) finding(own " may include only caret.h and its own headers, not " name)
        }' "$file"
    done
}

# The chain in the README is that of the file layers, and there is a folder for each of its names, and no other.
# None has more .c files than a reader keeps in mind: what grows beyond is to be split.
most_files=20 # arbitrary
check_layers()
{
    chain=$(awk '
        function add(text) { chain = chain (chain == "" ? "" : " -> ") text }
        function joined(from, list, i) {
            for (i = from; i <= NF; i++) list = list (i == from ? "" : ", ") $i
            return NF > from ? "{" list "}" : list
        }
        $1 == "engine" { add(joined(2)) }
        $1 == "front" { fronts = fronts (fronts == "" ? "" : ", ") $2 }
        END { print chain " -> {" fronts "}" }' layers)
    tr '\n' ' ' <README.md | grep -qF "\`$chain\`" || echo "README.md:1: the layers are written otherwise than in the file layers: \`$chain\`"
    {
        sed -n 's/^engine //p' layers | tr ' ' '\n' | sed 's|^|src/|'
        sed -n 's|^front \([^ ]*\).*|front/\1|p' layers
    } | sort >"$scratch/layers"
    grep -oE '^(src|front)/[^/]*' "$scratch/files" | sort -u >"$scratch/folders"
    comm -13 "$scratch/layers" "$scratch/folders" | sed 's/$/:1: not in the file layers/'
    comm -23 "$scratch/layers" "$scratch/folders" | sed 's|.*|layers:1: there is no folder &|'
    sed -n 's|^\(src/[^/]*\)/.*\.c$|\1|p' "$scratch/files" | sort | uniq -c |
        awk -v most="$most_files" '$1 > most { print $2 ":1: " $1 " .c files; " most " are the most" }'
}

# The files of a folder that can only be understood together, as each leads to all others: few. Only in api, whose files
# are one session's calls, there may be more. Read from the objects that the library was made of.
largest_circle=4 # arbitrary
check_circles()
{
    objects=$(dirname "$library")/CMakeFiles/caret_objects.dir
    if [ -z "$library" ] || [ ! -d "$objects/src" ]; then
        echo "SKIP no objects of the engine are built"
        return
    fi
    sed -n 's|^engine ||p' layers | tr ' ' '\n' | grep -vx api | while read -r layer; do
        set --
        for object in $(sed -n "s|^\(src/$layer/[^/]*\.c\)$|$objects/\1.o|p" "$scratch/files"); do
            [ -f "$object" ] && set -- "$@" "$object"
        done
        [ $# -eq 0 ] || nm -A -g "$@" 2>/dev/null | awk -v folder="src/$layer" -v most=$largest_circle -f "$tools/circles.awk"
    done
}

# External symbols begin with caret_; those with one underscore are exactly the public header's.
check_prefixes()
{
    if [ -z "$library" ]; then
        echo "SKIP no libcaret.a is built"
        return
    fi
    nm --defined-only -g "$library" | awk 'NF == 3 && $3 !~ /\.(lto_priv|isra|part|constprop|cold)/ && $3 !~ /\.c\.[0-9a-f]+$/ && $3 !~ /^__(asan|odr|tsan)/ { print $3 }' |
        sort -u >"$scratch/symbols"
    where=$(basename "$library")
    grep -v '^caret_' "$scratch/symbols" | sed "s/.*/$where:1: external symbol & lacks the prefix caret_ or caret__/"
    sed -n 's/^CARET_API .*[ *]\(caret_[a-z0-9_]*\)(.*/\1/p' include/caret.h | sort -u >"$scratch/public"
    grep '^caret_[^_]' "$scratch/symbols" | comm -23 - "$scratch/public" |
        sed "s/.*/$where:1: & is not in include\/caret.h: name it caret__.../"
    # The other way round: what the header promises exists.
    while read -r name; do
        grep -qx "$name" "$scratch/symbols" && continue
        line=$(grep -n "^CARET_API .*[ *]$name(" include/caret.h | head -n 1 | cut -d: -f1)
        echo "include/caret.h:$line: $name is declared but not defined"
    done <"$scratch/public"
}

# A descriptor that is kept is asked about before each use: its number is for shm/file.c alone.
check_descriptors()
{
    c_files | grep -v '^src/shm/file\.[ch]$' | xargs grep -nE '(\.|->)unasked\b' /dev/null |
        sed 's|^\([^:]*:[0-9]*\):.*|\1: a number that nobody asked about: caret__fd()|'
}

# #ifndef CARET_..._H first, used once.
check_guards()
{
    grep -E '^(src|front|include|test|bench)/.*\.h$' "$scratch/files" | while read -r file; do
        awk -v file="$file" '
        /^[ \t]*#/ {
            seen++
            if (seen == 1) {
                if ($0 !~ /^#ifndef CARET_([A-Z0-9_]+_)?H$/) { print file ":" FNR ": no header guard CARET_..._H"; exit }
                guard = $2
            } else if (seen == 2) {
                if ($0 != "#define " guard) print file ":" FNR ": #ifndef " guard " is not followed by its #define"
                exit
            }
        }
        END { if (!seen) print file ":1: no header guard CARET_..._H" }' "$file"
        sed -n "s|^#ifndef \(CARET_[A-Z0-9_]*H\)\$|\1 $file|p" "$file" | head -n 1 >>"$scratch/guards"
    done
    [ -f "$scratch/guards" ] && sort "$scratch/guards" | awk '
        $1 == guard { print $2 ":1: header guard " guard " is also that of " file }
        { guard = $1; file = $2 }'
}

# Files of at most 800 lines, and functions that are short.
longest_file=800
longest_function=50
longest_median=12
longest_tenth=25 # nine tenths of all functions are not longer
check_length()
{
    { c_files; lua_files; } | grep -E '^(src|front|test|bench)/' | while read -r file; do
        lines=$(wc -l <"$file")
        [ "$lines" -gt $longest_file ] && echo "$file:$((longest_file + 1)): $lines lines; $longest_file are the most"
    done
    # shellcheck disable=SC2046 # names without spaces
    command -v lua5.4 >/dev/null && lua5.4 "$tools/functions.lua" $longest_function $longest_median $longest_tenth \
        $({ c_files; lua_files; } | grep -E '^(src|front)/')
}

# No tabs (but in makefiles), no trailing white space, no CR, a newline at the end.
check_whitespace()
{
    # libyottadb.h has tabs, by which its clients find the constants; test/m/conf has what M programs print.
    grep -vE '^(include/yottadb/libyottadb\.h|test/m/conf/.*\.list|test/fuzz/corpus/.*|.*\.(png|bin|gz|caret))$' "$scratch/files" |
        tee "$scratch/texts" | xargs awk '
        /\t/ && FILENAME !~ /(^|\/)(Makefile|rules)$/ { print FILENAME ":" FNR ": tab" }
        /[ \t]$/ { print FILENAME ":" FNR ": trailing white space" }
        /\r/ { print FILENAME ":" FNR ": carriage return" }'
    # of a last line that ends, and of an empty file, nothing remains
    while read -r file; do
        [ -n "$(tail -c 1 "$file")" ] && echo "$file:$(wc -l <"$file"): no newline at the end"
    done <"$scratch/texts"
}

# Nothing that is true on one machine only.
check_paths()
{
    xargs grep -InE '(^|[^A-Za-z0-9_.~])/(work|root|home|Users)(/|[^A-Za-z0-9_]|$)' /dev/null <"$scratch/files" |
        sed 's/^\([^:]*:[0-9]*\):.*/\1: path of one machine/'
}

check_lua()
{
    [ -z "$(lua_files)" ] && return
    if ! command -v luacheck >/dev/null; then
        echo "SKIP luacheck is not installed"
        return
    fi
    # shellcheck disable=SC2046 # names without spaces
    luacheck --formatter plain --no-cache $(lua_files) | grep -E ':[0-9]+:'
}

check_shell()
{
    shell_files | while read -r file; do
        shell="sh"
        head -n 1 "$file" | grep -q bash && shell=bash
        $shell -n "$file" 2>&1 | sed "s|^\([^:]*\): \([0-9]*\): \(.*\)|$file:\2: \3|"
        if command -v shellcheck >/dev/null; then
            shellcheck -x -P SCRIPTDIR -S warning -f gcc -s $shell "$file" | sed 's/^\([^:]*:[0-9]*\):[0-9]*:/\1:/'
        fi
    done
}

# Functions assert the locks that their comments name; and the engine has so many assertions per 1,000 lines that run in
# builds with CARET_ASSERTS (or in all). Static ones are counted too, but do not count: they hold without running anything.
least_assertions=5
check_assertions()
{
    # shellcheck disable=SC2046 # names without spaces
    awk -f "$tools/held.awk" $(engine_files)
    # shellcheck disable=SC2046
    awk -v least=$least_assertions '
    !defines { defines = $0 ~ /^[ \t]*#[ \t]*define/ }
    !defines {
        run += gsub(/CARET__((ASSERT(_ALWAYS)?(_CMP)?)|(NOT_)?HELD)\(/, "&")
        fixed += gsub(/_Static_assert\(/, "&")
    }
    defines { defines = $0 ~ /\\$/ }
    END {
        if (!NR) exit
        text = sprintf("%.1f assertions at run time and %.1f static ones per 1,000 lines", 1000 * run / NR, 1000 * fixed / NR)
        if (1000 * run < least * NR) print "src:1: " text ", " least " at run time are the least"
        else print "NOTE " text
    }' $(engine_files) /dev/null
}

# Symbols, functions and files that comments and documents name exist.
check_names()
{
    # shellcheck disable=SC2046 # names without spaces
    awk -v files="$scratch/files" -f "$tools/names.awk" $(grep -E '\.(c|h|lua|md)$' "$scratch/files" |
        grep -vE '^include/yottadb/libyottadb\.h$|^CHANGELOG\.md$')
}

# What formatting leaves where nobody looks: a field torn from its type, as its comment was too long (write it
# above the field), and lines of comments that were not wrapped again.
longest_line=120
check_scars()
{
    c_files | grep -v '^include/yottadb/libyottadb\.h$' | while read -r file; do
        awk -v file="$file" -v longest=$longest_line '
        length($0) > longest { print file ":" FNR ": " length($0) " columns; " longest " are the most" }
        before ~ /^ +((_Atomic|const|unsigned|struct|static) )*[a-z_0-9]+( [a-z_0-9]+)?\**$/ &&
        before !~ /^ +(else|do|break|continue)$/ && /^ +([*a-z_0-9]+(\[[^]]*\])*|\[[A-Z_0-9]+\]);/ {
            print file ":" FNR ": a field torn from its type"
        }
        # A comment too long for the line of its statement: what stands before it is the rest of that.
        before !~ /\/\*/ && gsub(/\(/, "(", before) > gsub(/\)/, ")", before) && $0 ~ /\/\*.*\*\/$/ {
            rest = $0
            sub(/\/\*.*/, "", rest)
            gsub(/[ \t]/, "", rest)
            if (rest != "" && length(rest) < 30 && length($0) > 60) print file ":" FNR ": a line torn by its comment"
        }
        { before = $0 }' "$file"
    done
    grep -E '\.md$' "$scratch/files" | while read -r file; do
        awk -f "$tools/wrap.awk" "$file" | cmp -s - "$file" ||
            echo "$file:1: paragraphs with lines of over $longest_line columns: awk -f tools/wrap.awk wraps them"
    done
}

# Three habits that make sentences foreign, in all that is read: documents, comments, messages.
check_words()
{
    # shellcheck disable=SC2046 # names without spaces
    awk -f "$tools/words.awk" $(grep -E '\.(c|h|def|pml|lua|md|sh|awk|py|cmake)$|^(Makefile|CMakeLists\.txt|\.ci/run)$|^test/behaviour/.*\.txt$' \
        "$scratch/files") /dev/null
}

# Links from one document to another lead somewhere.
check_links()
{
    grep -E '\.md$' "$scratch/files" | while read -r file; do
        grep -noE '\]\([^)#: ]+' "$file" | while IFS= read -r link; do
            target=${link#*](}
            case $target in http | https) continue ;; esac
            [ -e "$(dirname "$file")/$target" ] || echo "$file:${link%%:*}: link to $target leads nowhere"
        done
    done
}

# The rock lists all sources.
check_rock()
{
    sh tools/rockspec.sh | cmp -s - caret-scm-1.rockspec ||
        echo "caret-scm-1.rockspec lists other sources than there are: sh tools/rockspec.sh >caret-scm-1.rockspec"
}

passed=0
failed=0
skipped=0
[ $# -eq 0 ] &&
    set -- format includes layers circles prefixes descriptors guards length assertions names scars words whitespace paths lua \
        shell links rock
for check in "$@"; do
    command -v "check_$check" >/dev/null || { echo "there is no step $check" >&2 && exit 2; }
    "check_$check" >"$scratch/printed"
    grep -v '^NOTE ' "$scratch/printed" >"$findings"
    said=$(sed -n 's/^NOTE /: /p' "$scratch/printed")
    if reason=$(sed -n 's/^SKIP //p' "$findings") && [ -n "$reason" ]; then
        echo "$check: skipped because $reason"
        skipped=$((skipped + 1))
    elif [ -s "$findings" ]; then
        cat "$findings"
        echo "$check: $(wc -l <"$findings") findings"
        failed=$((failed + 1))
    else
        echo "$check: ok$said"
        passed=$((passed + 1))
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
