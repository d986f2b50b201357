#!/bin/sh
# What caret 3n1 --out and --draw write: every form holds the same figures, charts and page are well formed and
# need nothing else, a browser shows them, and the picture has every number.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret

out=$dir/results
printf '#!/bin/sh\necho no\nexit 3\n' >"$dir/stub"
chmod +x "$dir/stub"
keep "$caret" 3n1 --rivals caret,tables --program "$dir/stub" -n 300,1000 -w 1,2 --runs 2 --out "$out"
[ $? -eq 1 ] && for file in results.json results.csv results.md index.html time-300.svg scaling-1000.svg cost.svg; do
    [ -s "$out/$file" ] || echo "$file is missing" >>"$dir/err"
done
! grep 'is missing' "$dir/err"
note $? "--out writes every form, also when a rival failed"

seconds=$(sed -n 's/.*"name":"caret","title":"Caret, Lua 5.4","version":"[^"]*","n":1000,"workers":2,"status":"ok","seconds":\([^,]*\),.*/\1/p' \
    "$out/results.json")
awk -F , -v s="$seconds" '$1 == "caret" && $NF != "settings" && /,1000,2,ok,/ { if (index($0, ",ok,," s) || s > 0) found = 1 }
    END { exit !found }' "$out/results.csv"
note $? "JSON and CSV have the same rows"
[ "$(grep -c failed "$out/results.csv")" -eq 4 ] && ! grep failed "$out/results.csv" | grep -q 'e-\|0\.0'
note $? "a row that failed has no figure"
tr '{' '\n' <"$out/results.json" | grep '"status":"failed"' >"$dir/failed" && ! grep -qE 'seconds|least|longest|highest|reads|runs' "$dir/failed"
note $? "in JSON neither"
grep -q '^| 3n+1 to 1,000 | 1 process | 2 processes |' "$out/results.md"
note $? "Markdown has a column for each number of processes"
[ "$(grep -c '<svg' "$out/index.html")" -eq 5 ] && ! grep -qE '(src|href)=|https?://[^w]' "$out/index.html"
note $? "the page has all charts, and needs no other file"

# Well formed: a parser that every system with Python has.
if command -v python3 >/dev/null; then
    keep python3 -c 'import sys, xml.dom.minidom
for name in sys.argv[1:]: xml.dom.minidom.parse(name)' "$out"/*.svg
    note $? "charts are well-formed XML"
else
    skip "charts are well-formed XML: python3 is not installed"
fi
if command -v rsvg-convert >/dev/null; then
    [ -s "$out/time-1000.png" ] && [ "$(wc -c <"$out/time-1000.png")" -gt 9000 ]
    note $? "charts as PNG have something to see"
else
    skip "PNG: rsvg-convert is not installed (make rivals)"
fi

# The newest page and its picture are kept in the build folder.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -n "$browser" ]; then
    mkdir -p "$build/bench"
    chrome() {
        timeout "$patience" "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync \
            --disable-background-networking --disable-component-update --user-data-dir="$dir/chrome" "$@" \
            "file://$out/index.html" >"$dir/out" 2>"$dir/err" </dev/null
    }
    chrome --dump-dom && [ "$(grep -c '<figure id="[a-z0-9-]*"' "$dir/out")" -eq 5 ] &&
        grep -q '<rect class="caret"' "$dir/out" && grep -q '<polyline class="line caret"' "$dir/out"
    note $? "a browser finds the charts in the page"
    chrome --window-size=400,2400 --screenshot="$build/bench/page.png" && [ -s "$build/bench/page.png" ]
    note $? "and shows them as on a telephone (bench/page.png in the build folder)"
else
    skip "the page in a browser: chromium is not installed"
fi

# ----------------------------------------------------------------- the picture

keep "$caret" 3n1 -n 2000 --draw "$dir/tree.svg" && grep -q 'tree.svg: [0-9]* numbers' "$dir/out" &&
    [ -z "$(ls -A "$TMPDIR")" ]
note $? "--draw leaves a picture and nothing else"
# As many twigs as numbers, but for 1: each is a pair of numbers after an l or a pair.
want=$(($(sed -n 's/.*: \([0-9]*\) numbers/\1/p' "$dir/out") - 1))
have=$(sed -n 's/.* d="\([^"]*\)".*/\1/p' "$dir/tree.svg" | sed 's/M[^l]*l/ /g' | wc -w)
[ "$have" -eq $((2 * want)) ]
note $? "each number is one twig of it ($have numbers for $want twigs)"
if command -v rsvg-convert >/dev/null; then
    keep "$caret" 3n1 -n 500 --draw "$dir/tree.png" && [ "$(wc -c <"$dir/tree.png")" -gt 9000 ]
    note $? "as PNG too"
fi
mkdir "$dir/none"
keep env PATH="$dir/none" "$caret" 3n1 -n 500 --draw "$dir/none.png"
[ $? -eq 3 ] && ! [ -s "$dir/out" ] && grep -q 'rsvg-convert is not installed' "$dir/err"
note $? "a PNG without what makes it: that is said before the work, not after it"
! grep -q 'min-width\|overflow-x:auto}svg' "$out/index.html"
note $? "charts become as narrow as the window"
expect 2 "a picture of another kind" 3n1 -n 10 --draw tree.jpg
expect 2 "a picture of a database that is kept" 3n1 -n 10 --draw tree.svg --keep
expect 3 "a picture that can't be written" 3n1 -n 10 --draw "$dir/no/tree.svg"
expect 3 "a folder that can't be made" 3n1 --runs 1 -n 10 --out "$dir/no/results"
keep "$caret" 3n1 -n 1 --draw "$dir/one.svg"
note $? "1 alone"
[ -z "$(ls -A "$TMPDIR")" ]
note $? "nothing is left behind"
finish
