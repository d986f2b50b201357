# Markdown with its paragraphs wrapped: those that have a line of more than 120 columns; the others stay as they are.
#
#   awk -f tools/wrap.awk FILE >NEW
#
# Tables, headings, code between fences and indented code, and HTML are not touched. An item of a list is a paragraph whose
# further lines are indented as its text is. No line begins with a word that would make it something else (-, *, 1., |).

function width(text) { return length(text) }

# Would a line that begins with the word be an item, a heading, a table?
function begins_something(word) { return word ~ /^([-*+]|#+|[0-9]+[.)]|\|.*|>.*|=+|-+)$/ }

function wrap(    i, k, n, need, word, line, lead, rest, text) {
    text = lines[1]
    match(text, /^ *([-*+] |[0-9]+\. )? */)
    lead = substr(text, 1, RLENGTH)
    rest = lead
    gsub(/[^ ]/, " ", rest)
    text = substr(text, RLENGTH + 1)
    for (i = 2; i <= count; i++) {
        sub(/^ +/, "", lines[i])
        text = text " " lines[i]
    }
    n = split(text, word, / +/)
    line = lead word[1]
    for (i = 2; i <= n; i++) {
        need = word[i]
        for (k = i + 1; k <= n && begins_something(word[k]); k++) need = need " " word[k] # these stay with it
        if (width(line " " need) > longest && !begins_something(word[i])) {
            print line
            line = rest word[i]
        } else line = line " " word[i]
    }
    print line
}

function finish(    i) {
    if (long) wrap()
    else for (i = 1; i <= count; i++) print lines[i]
    count = long = 0
}

BEGIN { longest = 120 }
/^ *(```|~~~)/ { finish(); fenced = !fenced; print; next }
fenced || /^ *\|/ || /^#/ || /^ *</ || /^ *$/ || (/^    / && !count) { finish(); print; next }
/^ *([-*+]|[0-9]+\.) / { finish() }
{
    lines[++count] = $0
    if (length($0) > longest) long = 1
}
END { finish() }
