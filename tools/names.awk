# Names in comments that lead nowhere: symbols caret__x and functions x() that no code has, and files that do not exist.
#
#   awk -v files=LIST -f tools/names.awk FILE...     file:line: text
#
# LIST has all files of the tree, one a line; FILE... are those to be looked at. Comments are what stands between /* and */
# in C, and after -- in Lua; of documents it is all text, but a file counts only with a folder of ours before it
# (src/..., test/...). A file may be named by the end of its path: tree/read.c; in the engine without a folder only beside
# it: page.h. A name in capitals stands for others (tools/NAME.lua); headers of the system are written <linux/magic.h>, its
# functions sigwait(2).

BEGIN {
    while ((getline path < files) > 0) {
        n = split(path, step, "/")
        if (n > 1) folder[step[1]] = 1
        tail = step[n]
        exists[tail] = 1
        for (i = n - 1; i > 0; i--) {
            tail = step[i] "/" tail
            exists[tail] = 1
        }
    }
}

FNR == 1 {
    kind = FILENAME ~ /\.[ch]$/ ? "c" : FILENAME ~ /\.lua$/ ? "lua" : "text"
    inside = 0
    beside = FILENAME
    sub(/[^\/]*$/, "", beside)
}

# What is comment of a line goes to `said`, what is not to `code`.
function part_c(line,    at)
{
    said = code = ""
    while (line != "") {
        if (inside) {
            at = index(line, "*/")
            said = said " " (at ? substr(line, 1, at - 1) : line)
            line = at ? substr(line, at + 2) : ""
            inside = !at
        } else {
            at = index(line, "/*")
            code = code " " (at ? substr(line, 1, at - 1) : line)
            line = at ? substr(line, at + 2) : ""
            inside = at > 0
        }
    }
}

function part(line,    at)
{
    if (kind == "c") part_c(line)
    else if (kind == "lua") {
        at = match(line, /--([ \[-]|$)/)
        said = at ? substr(line, at + 2) : ""
        code = at ? substr(line, 1, at - 1) : line
    } else {
        said = line
        code = ""
    }
}

function look_for_symbols(text,    name)
{
    while (match(text, /caret__[a-z0-9_]+/)) {
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (text ~ /^[*.]/ && name ~ /_$/) continue # a family: caret__tree_*
        if (!(name in first)) { order[++names] = name; first[name] = FILENAME ":" FNR }
        else first[name] = first[name] " " FILENAME ":" FNR
    }
}

function look_for_functions(text,    name)
{
    while (match(text, /[A-Za-z_][A-Za-z0-9_]*\(\)/)) {
        name = substr(text, RSTART, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        if (name ~ /^(__|[A-Z])/) continue
        if (!(name in first)) { order[++names] = name; first[name] = FILENAME ":" FNR }
        else first[name] = first[name] " " FILENAME ":" FNR
    }
}

function look_for_files(text,    name, before)
{
    while (match(text, /[A-Za-z0-9_][A-Za-z0-9_\/-]*\.(c|h|lua|sh|pml|awk|md)/)) {
        name = substr(text, RSTART, RLENGTH)
        before = substr(text, RSTART - 1, 1)
        text = substr(text, RSTART + RLENGTH)
        if (text ~ /^[A-Za-z0-9_]/ || name ~ /(^|\/)[A-Z]+[.\/]/ || before ~ /[<*\/.~$}>]/) continue
        if (kind == "text") {
            split(name, step, "/")
            if (name !~ /\// || !(step[1] in folder)) continue
        }
        if (!(name in exists)) print FILENAME ":" FNR ": " name " does not exist"
        else if (kind == "c" && FILENAME ~ /^src\// && name !~ /\// && name != "caret.h" &&
            !((beside name) in exists)) print FILENAME ":" FNR ": " name " lies in another folder"
    }
}

{
    part($0)
    while (match(code, /[A-Za-z_][A-Za-z0-9_]*/)) {
        defined[substr(code, RSTART, RLENGTH)] = 1
        code = substr(code, RSTART + RLENGTH)
    }
    if (said == "") next
    look_for_symbols(said)
    if (kind == "c") look_for_functions(said)
    look_for_files(said)
}

END {
    for (i = 1; i <= names; i++) {
        if (order[i] in defined) continue
        n = split(first[order[i]], places, " ")
        for (k = 1; k <= n; k++) print places[k] ": " order[i] " does not exist"
    }
}
