# Functions whose comment names a lock, a role or the gate, and whose body asserts nothing about it.
#
#   awk -f tools/held.awk src/base/*.[ch] ...     file:line: text
#
# A comment at the margin speaks of the declarations that follow it without an empty line. The body may be in
# another file: names with caret__ are looked for in all, others in their own.

function key(name) { return name ~ /^caret_/ ? name : FILENAME ":" name }

# "under the writer mutex", "holds both mutexes", "outside of the mutex", "in the role", "the gate is ours"
function names_lock(text) {
    text = tolower(text)
    gsub(/[ \t]+/, " ", text)
    return text ~ /(under|with|without|outside|outside of|in|holds?|holding|held|holder of|before|takes?|took|asked for) (the|both|that) ([a-z]+ )?(mutex|mutexes|gate|role|freeze|lock)([^a-z]|$)/ ||
           text ~ /(mutex|mutexes|gate|role|registry) (is|are) (held|ours|locked|taken)/ || text ~ /registry locked/
}

FNR == 1 { comment = ""; fresh = 0; in_comment = 0; head = ""; body = "" }

# comments at the margin
/^\/\*/ { comment = ""; in_comment = 1; started = FNR }
in_comment {
    line = $0
    sub(/^ \*[\/]?/, "", line)
    comment = comment " " line
    if ($0 ~ /\*\//) in_comment = 0
    next
}

body != "" {
    if ($0 ~ /CARET__(NOT_)?HELD\(|CARET__ASSERT\(.*caret__([a-z]+_held|holds)\(/) asserted[body] = 1
    if ($0 ~ /^}/) body = ""
    next
}

/^$/ { comment = ""; head = ""; next }
/^#/ { next }

# a declaration or the head of a definition
head == "" && /^[a-z].*\(/ && !/^(typedef|struct|enum|union)[^(]*[{;]/ {
    text = $0
    gsub(/__attribute__\(\([a-z]*\)\) /, "", text)
    sub(/\(.*/, "", text)
    sub(/.*[ *]/, "", text)
    head = text
    if (comment != "" && names_lock(comment) && text ~ /^[a-z_0-9]+$/ && text !~ /_held$|^caret__holds$/) {
        k = key(text)
        if (!(k in where)) { where[k] = FILENAME ":" FNR; order[++n] = k }
    }
}
head != "" && /^\{/ { body = key(head); defined[body] = 1; head = ""; comment = ""; next }
head != "" && /;[ \t]*(\/\*.*)?$/ { head = "" }
/^[a-z].*\{$/ && head == "" { comment = "" }

END {
    for (i = 1; i <= n; i++) {
        k = order[i]
        if (!(k in asserted) && k in defined)
            print where[k] ": " substr(k, index(k, ":") + 1) "() names a lock in its comment and asserts nothing about it"
    }
}
