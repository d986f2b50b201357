#!/bin/sh
# Decimal arithmetic, calculated by others too: by Python's decimal with both rules, and by GT.M with M's.
# CARET_PAIRS: calculations per operation, else 10,000 with either rules; CARET_SEED: others.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
program=$build/test/test_base_decimal
if [ ! -x "$program" ]; then
    echo "skipped: $program is not built"
    exit 77
fi
pairs=${CARET_PAIRS:-10000}
seed=${CARET_SEED:-$(date +%N | sed 's/^0*//')}
echo "CARET_SEED=$seed"
operations='+ - * / \ # ** < parse'

# agrees rules operation
agrees()
{
    "$program" "$1" "$2" "$pairs" "$seed" | timeout 3000 python3 "$source/test/base/decimal_oracle.py" "$1" "$2" >"$dir/out"
    note $? "Python's decimal agrees: $1 $2"
    cat "$dir/out"
}

set -f
if command -v python3 >/dev/null; then
    for operation in $operations; do
        agrees exact "$operation"
        agrees m "$operation"
    done
else
    echo "skipped: python3, the oracle of arbitrary precision, is not installed"
    skipped=$((skipped + 1))
fi

# GT.M takes binary floating point for most powers: 13 digits are compared there.
same_as_gtm()
{
    awk -F'|' -v power="$([ "$1" = '**' ] && echo 1)" '
        function near(x, y) { return (x - y) ^ 2 <= (y * 1e-13) ^ 2 }
        # a second point after the 18th digit: GT.M goes on to an E there, after the 17th it does not
        op == "parse" && $1 ~ /\..*\./ && length($1) > 18 { next }
        { n++; if ($3 != $4 && !(power && $4 !~ /[A-Z]/ && $3 !~ /[A-Z]/ && near($3, $4)) && bad++ < 10) print "Caret", $3, "GT.M", $4, "of", $1, op, $2 }
        END { print "GT.M:", n, "checked,", bad + 0, "differ"; exit bad > 0 || n == 0 }' op="$1" "$dir/both"
}

set +f
for gtm_dist in "${gtm_dist:-/none}" /usr/lib/*/fis-gtm/V*; do
    [ -x "$gtm_dist/mumps" ] && break
done
set -f
if [ -x "$gtm_dist/mumps" ]; then
    export gtm_dist gtmroutines="$dir $gtm_dist"
    cp "$source/test/base/decimal_oracle.m" "$dir/oracle.m"
    for operation in $operations; do
        "$program" m "$operation" "$pairs" "$seed" >"$dir/ours"
        (cd "$dir" && ORACLE_OP=$operation timeout 3000 "$gtm_dist/mumps" -run oracle) <"$dir/ours" >"$dir/theirs"
        paste -d '|' "$dir/ours" "$dir/theirs" >"$dir/both"
        same_as_gtm "$operation" >"$dir/out"
        note $? "GT.M agrees: $operation"
        cat "$dir/out"
    done
else
    echo "skipped: GT.M (fis-gtm) is not installed"
    skipped=$((skipped + 1))
fi
finish
