#!/bin/sh
# The parser of M, its formatter and `caret m -compile`.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret
[ -x "$build/caret-m" ] || { echo "skipped: caret-m is not built" && exit 77; }

"$build/caret-m" -lua "$source/test/m/test_parse.lua" >"$dir/out" 2>"$dir/err"
note $? "test_parse.lua"
counts=$(tail -n 1 "$dir/out")
passed=$((passed + ${counts%% *} - 1))

printf 'wrong ; this does not compile\n s x=1+\n d missing w 1\n d\n q\n' >"$dir/wrong.m"
tr '>' '\t' >"$dir/wrong.out" <<'END'
> s x=1+
>       ^-----
>>At column 8, line 2, source module wrong.m
%YDB-E-RHMISSING, Right-hand side of expression expected
%YDB-E-LABELMISSING, Label referenced but not defined: missing
%YDB-I-SRCNAM, in source module wrong.m
> d
>  ^-----
>>At column 3, line 4, source module wrong.m
%YDB-W-DONOBLOCK, Argumentless DO not followed by a block
END
cd "$dir" || exit 1
"$caret" m -compile wrong.m >"$dir/out" 2>"$dir/err"
[ $? = 1 ] && [ ! -s "$dir/out" ] && diff "$dir/wrong.out" "$dir/err" >"$dir/out"
note $? "-compile lists all errors and ends with 1"

# A line that no DO leads to is as deep as the one before, also one with a comment alone. Labels of commands that are
# not compiled are not looked for, others each time, after all lines, as is a DO without a block.
printf 'deep ;\n d\n . . ;c\n . w 1\n d a,b+ d c\n .\n d a,a s x=1+\n' >deep.m
"$caret" m -compile deep.m 2>&1 | sed -n -e 's/^%YDB-.-\([A-Z]*\),.*/\1/p' -e 's/.*At \(.*\), source.*/\1/p' >"$dir/out"
tr '|' '\n' >"$dir/deep.out" <<'END'
column 6, line 3|BLKTOODEEP|column 4, line 4|BLKTOODEEP|column 8, line 5|EXPR|column 3, line 6|BLKTOODEEP
column 14, line 7|RHMISSING|column 3, line 2|DONOBLOCK|LABELMISSING|SRCNAM|LABELMISSING|SRCNAM
END
diff "$dir/deep.out" "$dir/out" >"$dir/diff"
note $? "-compile tells what no DO leads to"

# Calls with more actuals than the label has formals, or of a label without a list of them.
printf 'list ;\n d a(1),b(1,2),b(1),b() w $$a,$$b(,) j a(1)\n q\na q 1\nb(x) q 2\n' >list.m
"$caret" m -compile list.m 2>&1 | sed -n 's/^%YDB-E-\([A-Z]*\),.*: \(.*\)/\1 \2/p' | tr '\n' ' ' >"$dir/out"
[ "$(cat "$dir/out")" = 'FMLLSTMISSING a ACTLSTTOOLONG b FMLLSTMISSING a ACTLSTTOOLONG b ' ]
note $? "-compile tells actuals without formals"

printf 'x ;\n i 1 w $h q\n' >right.m
"$caret" m -compile right.m >"$dir/out" 2>&1 && [ ! -s "$dir/out" ]
note $? "-compile says nothing about what compiles"
"$caret" m -compile none.m >"$dir/out" 2>&1
[ $? = 2 ]
note $? "-compile ends with 2 where there is no file"
"$caret" m -compile . >"$dir/out" 2>&1
grep -qx '.: Is a directory' "$dir/out"
note $? "-compile names a folder that it can't read"

printf 'open ;\n w $d(^x)\n' >open.m
CARET_DB=open.m CARET_ROUTINES=. "$caret" m -run open >"$dir/out" 2>&1
grep -q '^%YDB-E-ZGBLDIRACC, .*Cannot continue\.,%YDB-I-TEXT, FOREIGN: .*not a Caret database$' "$dir/out"
note $? "a database that can't be opened is told with the reason"
"$caret" m -run 1a >"$dir/out" 2>&1
grep -q '^%YDB-E-RUNPARAMERR' "$dir/out"
note $? "-run refuses what is not a routine's name"

"$caret" m -format right.m >"$dir/out" 2>"$dir/err" && printf 'x ;\n IF 1 WRITE $HOROLOG QUIT\n' | cmp - "$dir/out"
note $? "-format writes on standard output"
"$caret" m -format -short -write right.m >"$dir/out" 2>"$dir/err" && printf 'x ;\n I 1 W $H Q\n' | cmp - right.m
note $? "-format -write changes the file"
"$caret" m -nonsense >"$dir/out" 2>"$dir/err"
[ $? = 2 ] && grep -q '^usage: caret m' "$dir/err"
note $? "what it does not know it tells"
finish
