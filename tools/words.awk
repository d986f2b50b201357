# Three habits that make sentences foreign (docs/style.md, "Words"): a bare `who`, `behind` in time, `is no` for `is not a`.
#
#   awk -f tools/words.awk FILE...     file:line: text
#
# Looked at are comments and strings of C and Lua, and the whole text of other files but what stands between backquotes.
# All words of a file are collected first, as a sentence goes on over the ends of lines; a "." among them ends one.

function plain(text) {
    text = tolower(text)
    gsub(/^[^a-z]+|[^a-z]+$/, "", text)
    return text
}

function add(text,    i, n, part) {
    gsub(/`[^`]*`/, " CODE ", text)
    n = split(text, part, /[ \t]+/)
    for (i = 1; i <= n; i++)
        if (part[i] != "" && part[i] !~ /^(\*|#+|--+)$/) {
            word[++words] = part[i]
            line[words] = FNR
        }
}

function stop() {
    if (words == 0 || word[words] == ".") return
    word[++words] = "."
    line[words] = FNR
}

# A line of C or Lua; code ends the sentence.  `closes` is what ends the comment or string that is open, or "".
function source(text,    at) {
    while (text != "") {
        if (closes != "") {
            at = index(text, closes)
            add(at ? substr(text, 1, at - 1) : text)
            if (!at) return
            text = substr(text, at + length(closes))
            closes = ""
        } else if (kind == "c" && text ~ /^\/\*/) {
            closes = "*/"
            text = substr(text, 3)
        } else if (kind == "lua" && text ~ /^(--)?\[\[/) {
            closes = "]]"
            sub(/^(--)?\[\[/, "", text)
        } else if (kind == "c" && text ~ /^\/\// || kind == "lua" && text ~ /^--/) {
            sub(/^(\/\/|-+(@[a-z]+ [^ ]+)?)/, "", text)
            add(text)
            return
        } else if (match(text, /^"([^"\\]|\\.)*"?/) || match(text, /^'([^'\\]|\\.)*'?/)) {
            at = substr(text, 2, RLENGTH - 2)
            text = substr(text, RLENGTH + 1)
            gsub(/\\n/, " . ", at)
            add(at)
        } else {
            if (text !~ /^[ \t]/) stop()
            match(text, /^([A-Za-z0-9_]+|[ \t]+|.)/)
            text = substr(text, RLENGTH + 1)
        }
    }
}

function finding(i, text) { print file ":" line[i] ": " text }

# Does the sentence end as a question?
function asked(i,    k) {
    for (k = i; k <= words && k < i + 40; k++)
        if (word[k] ~ /[.?!;:][)"'*]*$/) return word[k] ~ /\?[)"'*]*$/
    return 0
}

# Right after a word for people, and where something is asked: `tells who holds it, and who waits`.
function look_at_who(i,    before) {
    before = plain(word[i - 1])
    if (word[i - 1] !~ /[.;:!?|]$/ && (before in people || before in asks)) return
    if ((before == "and" || before == "or") && i - last_who < 12) return
    if (!asked(i)) finding(i, "a bare `who`: name the process, thread or person, or write `whoever`")
}

# Right of what was left, and of a place.
function look_at_place(i) {
    if (plain(word[i - 1]) == "left" || word[i + 1] " " word[i + 2] ~ /^(a NAT|a proxy)/) return
    finding(i, "`" word[i] "` is a place: in time and in an order it is `after`")
}

# Right are "there is no way", "there can be no way", "if there is no way", "is no longer", "is no more than".
function look_at_no(i,    k) {
    if (plain(word[i + 1]) ~ /^(longer|more|less|fewer|better|worse|earlier|later|matter|one)$/) return
    for (k = i - 2; k > 0 && k > i - 6 && word[k] !~ /[.;:,]$/; k--)
        if (plain(word[k]) ~ /^(there|here)$/) return
    finding(i, "`" word[i - 1] " no " word[i + 1] "`: say `" word[i - 1] " not`")
}

function look(    i, text) {
    last_who = -99
    for (i = 1; i <= words; i++) {
        text = plain(word[i])
        if (text == SUBJECT) {
            look_at_who(i)
            last_who = i
        } else if (text == PLACE) look_at_place(i)
        else if (word[i] == "no" && word[i - 1] ~ /^(is|[Aa]re|was|were|be|been)$/) look_at_no(i)
    }
    words = 0
}

function set(text, into,    i, n, list) {
    n = split(text, list, " ")
    for (i = 1; i <= n; i++) into[list[i]] = 1
}

BEGIN {
    SUBJECT = "wh" "o"
    PLACE = "be" "hind"
    set("those one ones somebody someone anybody anyone everybody everyone nobody all others people user users person " \
        "reader maintainer stranger programmer programmers administrator author authors", people)
    set("tell tells told say says said ask asks asked know knows known see sees show shows matter matters learn learns " \
        "decide decides in about", asks)
}

FNR == 1 {
    look()
    file = FILENAME
    kind = file ~ /\.([ch]|def|pml)$/ ? "c" : file ~ /\.lua$/ ? "lua" : "text"
    closes = ""
}
/^[ \t*#-]*$/ {
    stop()
    if (closes == "") next
}
kind != "text" { source($0); next }
/^#+ |^ *[-*+] |^\|/ { stop() }
{ add($0) }
END { look() }
