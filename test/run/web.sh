#!/bin/sh
# The HTTP interface of `caret web`: each test/web/test_*.py, with the system's Python and nothing else.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret python3
export CARET="$caret" PYTHONDONTWRITEBYTECODE=1
XDG_STATE_HOME=$dir/state
export XDG_STATE_HOME

"$caret" set --db "$dir/try.caret" '^a' 1
keep timeout 1 "$caret" web --db "$dir/try.caret" --port 0
if grep -q 'is not installed\|has no page' "$dir/err"; then
    echo "skipped: $(cat "$dir/err")"
    exit 77
fi

# refused status text option...: it does not start, and says why
refused()
{
    status=$1
    text=$2
    shift 2
    expect "$status" "not with $*" web --db "$dir/try.caret" "$@"
    grep -qF -- "$text" "$dir/err"
    note $? "as $text"
}

echo nonsense >"$dir/bad.pem"
echo 'a long password' >"$dir/password"
set -- --bind 0.0.0.0 --port 0 --cert "$dir/bad.pem" --key "$dir/bad.pem" --password "$dir/password"
refused 2 "--host: 'bad name' is not the name of a machine" "$@" --host 'bad name'
refused 2 "--host: '' is not the name of a machine" "$@" --host 'a,'
refused 2 "--host goes with a --bind that is open" --port 0 --host here
refused 3 "--cert and --key can't be used" "$@" --host 'a.example,[::1],b-2'
mkfifo "$dir/end"
refused 3 "--cert and --key can't be used" --port 0 --cert "$dir/bad.pem" --key "$dir/bad.pem"
python3 -c 'import socket, sys
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
sys.stdin.read()' <"$dir/end" >"$dir/port" &
exec 3>"$dir/end"
soon test -s "$dir/port"
refused 3 'the port is in use' --port "$(cat "$dir/port")"
exec 3>&-
wait $!

for test in "$source"/test/web/test_*.py; do
    keep python3 "$test"
    note $? "$(basename "$test")"
done
keep sh "$source/test/with_postgres.sh" python3 "$source/test/web/address.py"
status=$?
if [ $status -eq 77 ]; then
    skip "no PostgreSQL here: a database by its address"
else
    note $status "address.py"
fi
finish
