#!/bin/sh
# The judge of test/behaviour judges: wrong answers are failures, each of all cases has teeth, what is malformed or unknown
# ends it with status 2, and a front-end that dies or knows nothing fails.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need "$build/test/judge" "$build/test/behaviour_c"

cases=$source/test/behaviour
sh=$(command -v sh)

# judged file: as caret.h answers
judged() { keep "$build/test/judge" "$@" -- "$build/test/behaviour_c"; }

# ------------------------------------------------------------- wrong answers

cat >"$dir/wrong.txt" <<'CASES'
case right
  set ^a=1
  get ^a -> 1
end
case wrong-value
  set ^a=1
  get ^a -> 2
end
case wrong-but-usual
  get ^1
end
case wrong-in-another-session
  2: get ^a -> 5
end
case wrong-in-a-transaction
  begin
    set ^a=1
    data ^a -> 0
  commit
end
case a-run-that-does-not-come
  begin
    @2 set ^a=1
  commit
end
case a-list-that-goes-on
  set ^a(1)=1
  set ^a(2)=1
  children ^a -> 1
end
case right-again
  get ^a -> none
end
CASES
judged "$dir/wrong.txt"
[ $? -eq 1 ] && grep -q '^2 passed, 6 failed$' "$dir/out"
note $? "each wrong answer is a failure, and what comes after it is judged"
grep -q 'FAILED wrong-value' "$dir/out" && grep -q 'wrong.txt:7: get ^a' "$dir/out"
note $? "a failure names case and line"

# Of each case the last answer is made wrong: none may pass.
for file in "$cases"/*.txt; do
    awk '/^end$/ { sub(/ -> .*/, "", last); last = last " -> \"made wrong\"" }
        NR > 1 { print last } { last = $0 } END { print last }' "$file" >"$dir/$(basename "$file")"
done
rm "$dir/wrong.txt"
judged "$dir"/*.txt
[ $? -eq 1 ] && grep -q '^0 passed, ' "$dir/out"
note $? "no case passes with its last answer made wrong"

count=$(cat "$cases"/*.txt | grep -c '^case ')
[ "$count" -ge 400 ]
note $? "there are 400 cases at least ($count)"

# ------------------------------------------------------- malformed or unknown

# refused why line...: a file of these lines is refused, as said
refused()
{
    why=$1
    shift
    printf '%s\n' "$@" >"$dir/bad.txt"
    judged "$dir/bad.txt"
    [ $? -eq 2 ] && grep -q "bad.txt:[0-9]*: .*$why" "$dir/err" && ! grep -q passed "$dir/out"
    note $? "refused: $why"
}

refused "unknown operation" "case x" "  sett ^a=1" end
refused "unknown operation" "case x only yottadb" "  sett ^a=1" end
refused "neither a case" "  set ^a=1"
refused "an empty case" "case x" end
refused "no end" "case x" "  set ^a=1"
refused "has no end" "case x" "  begin" end
refused "nothing to end" "case x" "  commit" end
refused "of that name" "case x" "  set ^a=1" end "case x" "  set ^a=1" end
refused "only FRONT" "case x sometimes" "  set ^a=1" end
refused "no such front" "case x except yotadb" "  set ^a=1" end
refused "= is missing" "case x" "  set ^a" end
refused "a node was expected" "case x" "  get" end
refused "a value was expected" "case x" "  set ^a=x" end
refused "quote without its end" "case x" '  set ^a="x' end
refused ") is missing" "case x" "  get ^a(1 -> none" end
refused "more than" "case x" "  get ^a ^b" end
refused "more than" "case x" "  get ^a ->" end
refused "too large" "case x" '  get ^a -> $C(256)' end
refused "no space" "case x" '  get ^a -> "x""y"z' end
refused "a word is missing" "case x" "  lock ^a" end
refused "a session is" "case x" "  0: get ^a" end
refused "number of a run" "case x" "  begin" "    @x get ^a" "  commit" end
refused "one of a transaction" "case x" "  @1 get ^a" end
refused "first one's locals" "with locals" "case x" "  2: get ^a -> none" end
judged "$dir/nothing.txt"
[ $? -eq 2 ]
note $? "a file that is not there is refused"

# ----------------------------------------------------------------- front-ends

printf 'case x\n  set ^a=1\nend\ncase y\n  set ^a=1\nend\n' >"$dir/two.txt"

# front what text: a front-end that is a shell script; it fails both cases
front()
{
    keep "$build/test/judge" "$dir/two.txt" -- "$sh" -c "$2"
    [ $? -eq 1 ] && grep -q '^0 passed, 2 failed$' "$dir/out"
    note $? "$1 fails"
}

front "a front-end that ends at once" 'exit 0'
front "a front-end that ends after the first line" 'echo x; read -r line'
front "a front-end that can't clear" 'echo x; while read -r line; do echo no; done'
front "a front-end that knows nothing" \
    'echo x; while read -r line; do [ "$line" = clear ] && echo ok || echo UNKNOWN; done'
keep "$build/test/judge" "$dir/two.txt" -- "$dir/no-such-program"
[ $? -eq 1 ]
note $? "a front-end that is not there fails"
printf 'case x only c\n  set ^a=1\nend\n' >"$dir/two.txt"
keep "$build/test/judge" "$dir/two.txt" -- "$sh" -c 'echo x; read -r line'
[ $? -eq 1 ] && grep -q '^0 passed, 0 failed$' "$dir/out"
note $? "a front-end that no case is for fails"

finish
