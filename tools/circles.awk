# Files that refer to each other in a circle.
#
#   nm -A -g OBJECT... | awk -v folder=src/log -v most=4 -f tools/circles.awk
#
# Of the object files of one folder: a file refers to another one if it uses a symbol that is defined there. Of the
# largest set of files each of which leads to all others, each file is a finding if there are more than `most`.
{
    file = $1
    sub(/:[^:]*$/, "", file)
    sub(/.*\//, "", file)
    sub(/\.o(bj)?$/, "", file)
    if (!(file in number)) {
        number[file] = ++files
        name[files] = file
    }
    kind = $(NF - 1)
    if (kind == "U") used[file, $NF]
    else home[$NF] = file
}
END {
    for (use in used) {
        split(use, part, SUBSEP)
        if (part[2] in home) leads[number[part[1]], number[home[part[2]]]] = 1
    }
    for (via = 1; via <= files; via++)
        for (from = 1; from <= files; from++)
            if ((from, via) in leads)
                for (to = 1; to <= files; to++)
                    if ((via, to) in leads) leads[from, to] = 1
    for (one = 1; one <= files; one++) {
        size = 0
        for (other = 1; other <= files; other++)
            size += other == one || ((one, other) in leads && (other, one) in leads)
        if (size > largest) {
            largest = size
            in_it = one
        }
    }
    for (other = 1; largest > most && other <= files; other++)
        if (other == in_it || ((in_it, other) in leads && (other, in_it) in leads))
            print folder "/" name[other] ":1: one of " largest " files that refer to each other; " most " are the most"
}
