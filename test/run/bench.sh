#!/bin/sh
# caret bench: every operation and mix is counted, percentiles are in order, programs of M answer right, and compare tells
# what changed.  The programs in C that `make bench` runs print figures.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret

# ordered: in $dir/out no percentile of a row is below the one before
ordered()
{
    tr '{' '\n' <"$dir/out" | sed -n 's/.*"p50_ns":\([0-9]*\),"p90_ns":\([0-9]*\),"p99_ns":\([0-9]*\),"p999_ns":\([0-9]*\),"max_ns":\([0-9]*\).*/\1 \2 \3 \4 \5/p' |
        awk '{ n++; for (i = 2; i <= 5; i++) if ($i < $(i - 1)) bad = 1 } END { exit bad || n == 0 }'
}

keep "$caret" bench ops -n 1000 --count 1000 --json
[ "$(grep -o '"name":"C: ' "$dir/out" | wc -l)" -eq 9 ] && [ "$(grep -o '"name":"Lua' "$dir/out" | wc -l)" -eq 8 ] &&
    [ "$(grep -o '"count":1000,' "$dir/out" | wc -l)" -eq 17 ]
note $? "ops has each operation, each as often as asked for"
ordered
note $? "percentiles of operations are in order"
keep "$caret" bench ops -n 1000 --count 1000 && grep -q '^C: random get  *1,000 ' "$dir/out"
note $? "ops as a table"

for spread in "" --uniform; do
    # shellcheck disable=SC2086 # no word when empty
    keep "$caret" bench mix -n 1000 --count 500 -w 3 --json $spread && [ "$(grep -o '"count":1500,' "$dir/out" | wc -l)" -ge 6 ] &&
        ordered
    note $? "six mixes in three processes ${spread:-zipfian}: every operation is counted"
done
keep "$caret" bench mix -n 1000 --count 400 --mix c && ! grep -qE 'update|insert|scan' "$dir/out" && grep -q '^C: read  *800 ' "$dir/out"
note $? "mix C only reads"
keep "$caret" bench mix -n 1000 --count 400 --mix e && grep -q '^E: scan' "$dir/out" && grep -q '^E: insert' "$dir/out"
note $? "mix E scans and inserts"

for program in subtrees calls yottadb wake ops walks; do
    [ -x "$build/bench/$program" ] || continue
    "$build/bench/$program" -n 1000 -r 1 --json >"$dir/out" 2>"$dir/err" </dev/null && grep -q '^{"work":' "$dir/out"
    note $? "bench/$program has figures"
done

# What M computes is verified by the program itself, SHA-512 by a known digest.
if [ -x "$build/caret-m" ]; then
    keep "$caret" bench m --count 100 --json && [ "$(grep -o '"caret-m_us":' "$dir/out" | wc -l)" -eq 21 ]
    note $? "m measures 21 programs"
    keep "$caret" bench m --count 100 && grep -q '^M: 3n+1 to 10,000, locals  *[0-9]' "$dir/out"
    note $? "m as a table"
fi

# results name seconds least most: a file with one row
results()
{
    printf '{"benchmark":"3n1","rows":[{"name":"caret","title":"Caret","n":1000,"workers":1,%s},{"name":"other","n":1000,"workers":1,"status":"ok","seconds":1,"least":1,"most":1}]}' "$2" >"$dir/$1.json"
}
results a '"status":"ok","seconds":2.0,"least":1.9,"most":2.1'
results b '"status":"ok","seconds":1.0,"least":0.9,"most":1.1'
results near '"status":"ok","seconds":2.05,"least":1.95,"most":2.2'
results lost '"status":"failed","reason":"dead"'
keep "$caret" bench compare "$dir/a.json" "$dir/b.json" && grep -q '^Caret .*2.00 s .*1.00 s .*0.50  faster' "$dir/out" &&
    grep -q '^other .*1.00  within' "$dir/out"
note $? "half the time is faster"
keep "$caret" bench compare "$dir/b.json" "$dir/a.json" && grep -q '2.00  slower' "$dir/out"
note $? "and the other way round slower"
keep "$caret" bench compare "$dir/a.json" "$dir/near.json" && grep -q 'within the range' "$dir/out"
note $? "a difference within the range is none"
expect 1 "a row that lost its figure" bench compare "$dir/a.json" "$dir/lost.json"
grep -q 'lost' "$dir/out"
note $? "is told"
keep "$caret" 3n1 --runs 1 -n 300 --json && cp "$dir/out" "$dir/real.json" &&
    keep "$caret" bench compare "$dir/real.json" "$dir/real.json" --json && grep -q '"ratio":1,"verdict":"within the range"' "$dir/out"
note $? "a real result compared with itself"

echo '{"rows":[{"name":"caret"}]}' >"$dir/odd.json"
expect 3 "JSON that is not a result" bench compare "$dir/a.json" "$dir/odd.json"
grep -q 'odd.json is not a result' "$dir/err"
note $? "is told"
echo nonsense >"$dir/bad.json"
expect 3 "a file that is not JSON" bench compare "$dir/a.json" "$dir/bad.json"
expect 3 "a file that is not there" bench compare "$dir/a.json" "$dir/none.json"
expect 2 "one file alone" bench compare "$dir/a.json"
expect 2 "an unknown kind" bench speed
expect 2 "an unknown mix" bench mix --mix XYZ
expect 2 "too few nodes" bench ops -n 1
[ -z "$(ls -A "$TMPDIR")" ]
note $? "nothing is left behind"
finish
