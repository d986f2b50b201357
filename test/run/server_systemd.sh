#!/bin/sh
# The server as a service: what it tells, sockets that it is handed, and the unit of the package.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret python3 openssl
server=$build/caret-server
[ -x "$server" ] || { echo "skipped: the server is not built" && exit 77; }
keep "$server" "$dir/x.caret" --shm-dir "$dir" --port 0 --tls-port 1
grep -q 'built without TLS' "$dir/err" && { echo "skipped: the server is built without TLS" && exit 77; }

openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2 -keyout "$dir/key" -out "$dir/cert" 2>"$dir/err"
note $? "openssl makes a certificate"
timeout "$((patience * 2))" python3 "$source/test/server/manager.py" "$server" "$dir" "$dir/cert" "$dir/key" \
    >"$dir/out" 2>"$dir/err"
note $? "test/server/manager.py"

if command -v systemd-analyze >/dev/null; then
    sed "s|/usr/bin/caret-server|$server|" "$source/front/server/systemd/caret@.service" >"$dir/caret@shop.service"
    SYSTEMD_LOG_LEVEL=warning keep systemd-analyze verify --man=no "$dir/caret@shop.service"
    [ ! -s "$dir/err" ]
    note $? "systemd-analyze verify has nothing to say of the unit"
fi

finish
