# Reads the log of `ctest -V`, counts test cases, shows what failed and why.
#
# cmocka and luaunit programs say themselves how many cases passed; a program that
# prints "N passed, N failed" is believed too; any other counts as one case. A
# program that ends badly without naming a failed case counts as one failure.
# The last line is "COUNT passed failed skipped".

function number_before(text, word) {
    if (!match(text, "[0-9]+ " word)) return 0
    return substr(text, RSTART, RLENGTH) + 0
}

function keep(id, text) {
    lines[id, kept[id]++ % 120] = text
}

function show(id,    i, first) {
    first = kept[id] > 120 ? kept[id] - 120 : 0
    if (first) print "    ... (" first " lines before these)"
    for (i = first; i < kept[id]; i++) print "    " lines[id, i % 120]
}

/^[0-9]+: / {
    id = $1 + 0
    text = $0
    sub(/^[0-9]+: /, "", text)
    if (text ~ /^(Test command|Working Directory|Environment variables|Test timeout computed|MALLOC_)/) next
    if (text ~ /^watch: /) next
    if (text ~ /^ CARET_(BUILD|SOURCE|LUA)=/) next
    if (text ~ /\[  PASSED  \] [0-9]+ test\(s\)/) passed[id] += number_before(text, "test")
    else if (text ~ /\[  FAILED  \] [0-9]+ test\(s\)/) failed[id] += number_before(text, "test")
    else if (text ~ /\[  SKIPPED \] [0-9]+ test\(s\)/) skipped[id] += number_before(text, "test")
    else if (text ~ /\[  SKIPPED \] [^0-9]/ && text != listed[id, text]) {
        listed[id, text] = text
        if (!(index(reasons[id], last[id] "\n"))) reasons[id] = reasons[id] "    " last[id] "\n"
        reasons[id] = reasons[id] "    " text "\n"
    } else if (text ~ /^Ran [0-9]+ tests? in /) {
        passed[id] += number_before(text, "success")
        failed[id] += number_before(text, "failure") + number_before(text, "error")
        skipped[id] += number_before(text, "skipped")
    } else if (text ~ /^[0-9]+ passed, [0-9]+ failed/) {
        passed[id] += number_before(text, "passed")
        failed[id] += number_before(text, "failed")
        skipped[id] += number_before(text, "skipped")
    } else if (last[id] ~ /\.\.\. SKIP$/) { # luaunit says why on the next line
        reasons[id] = reasons[id] "    " last[id] ": " text "\n"
    } else if (text ~ /[Ss]kip/ && !index(reasons[id], text "\n")) reasons[id] = reasons[id] "    " text "\n"
    last[id] = text
    keep(id, text)
    next
}

/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
    match($0, /#[0-9]+/)
    id = substr($0, RSTART + 1, RLENGTH - 1) + 0
    name = substr($0, RSTART + RLENGTH + 2)
    sub(/ .*/, "", name)
    if ($0 ~ /\*\*\*Skipped/) {
        if (!skipped[id]) skipped[id] = 1
        reasons[id] = "    " last[id] "\n"
    } else if ($0 !~ / Passed +[0-9.]+ sec/) {
        if (!failed[id]) {
            failed[id] = 1
            keep(id, "(ended badly, but named no failed case: a crash, a hang or a report above)")
        }
    } else if (passed[id] + failed[id] + skipped[id] == 0) passed[id] = 1
    if (failed[id]) {
        print "  FAILED " name
        show(id)
    }
    if (skipped[id]) printf "  skipped %d of %s:\n%s", skipped[id], name, reasons[id]
    p += passed[id]
    f += failed[id]
    s += skipped[id]
}

END { print "COUNT", p + 0, f + 0, s + 0 }
