#!/bin/sh
# TLS of the server: with certificates that openssl makes, test/server/tls.py with one and two workers, and redis-cli.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret luajit openssl python3
server=$build/caret-server
[ -x "$server" ] || { echo "skipped: the server is not built" && exit 77; }
keep "$server" "$dir/x.caret" --shm-dir "$dir" --port 0 --tls-port 1
grep -q 'built without TLS' "$dir/err" && { echo "skipped: the server is built without TLS" && exit 77; }
pid=
trap '[ -n "$pid" ] && kill $pid 2>/dev/null; rm -rf "$dir"' EXIT

# key name: a key and what asks for its certificate
key()
{
    openssl ecparam -name prime256v1 -genkey -noout -out "$dir/$1.key" &&
        openssl req -new -key "$dir/$1.key" -subj "/CN=$2" -out "$dir/$1.csr"
}
# certificate name CN authority
certificate()
{
    key "$1" "$2" && printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' >"$dir/ext" &&
        openssl x509 -req -in "$dir/$1.csr" -CA "$dir/$3.pem" -CAkey "$dir/$3.key" -CAcreateserial -days 2 \
            -extfile "$dir/ext" -out "$dir/$1.pem"
}
{
    for ca in ca other; do
        openssl ecparam -name prime256v1 -genkey -noout -out "$dir/$ca.key" &&
            openssl req -x509 -new -key "$dir/$ca.key" -subj "/CN=$ca" -days 2 -out "$dir/$ca.pem"
    done
    certificate server first ca && certificate second second ca && certificate client client ca &&
        certificate stranger stranger other && openssl ec -in "$dir/server.key" -aes256 -passout pass:hugo \
            -out "$dir/locked.key"
} >"$dir/out" 2>"$dir/err"
note $? "openssl makes certificates"

# refused status text arguments...: the server does not start
refused()
{
    want=$1
    text=$2
    shift 2
    keep "$server" "$dir/x.caret" --shm-dir "$dir" --port 0 --tls-port 1 "$@"
    [ $? = "$want" ] && grep -qF -- "$text" "$dir/err" && [ "$(wc -l <"$dir/err")" = 1 ]
    note $? "$*: $text"
}
refused 2 'tls-port needs tls-cert-file and tls-key-file'
refused 2 'needs tls-ca-cert-file' --tls-cert-file "$dir/server.pem" --tls-key-file "$dir/server.key"
set -- --tls-auth-clients no --tls-cert-file
refused 3 'tls-cert-file /nonexistent: No such file' "$@" /nonexistent --tls-key-file "$dir/server.key"
echo nonsense >"$dir/bad.pem"
refused 3 'bad.pem: it is not PEM, or' "$@" "$dir/bad.pem" --tls-key-file "$dir/server.key"
refused 3 'bad.pem: it is not PEM, or' "$@" "$dir/server.pem" --tls-key-file "$dir/bad.pem"
refused 3 'tls-key-file' "$@" "$dir/server.pem" --tls-key-file "$dir/client.key"
refused 3 'tls-key-file' "$@" "$dir/server.pem" --tls-key-file "$dir/locked.key" --tls-key-file-pass x
refused 3 "'SSLv3' is none of" "$@" "$dir/server.pem" --tls-key-file "$dir/server.key" --tls-protocols SSLv3

port=$((20000 + $$ % 10000))
# start workers: two ports that are free
start()
{
    while :; do
        "$server" "$dir/a.caret" --shm-dir "$dir" --port $port --tls-port $((port + 1)) --workers "$1" \
            --tls-cert-file "$dir/server.pem" --tls-key-file "$dir/locked.key" --tls-key-file-pass hugo \
            --tls-ca-cert-file "$dir/ca.pem" --tls-auth-clients no --unix "$dir/s" 2>"$dir/log" &
        pid=$!
        soon it_answers_or_ended
        kill -0 $pid 2>/dev/null && break
        wait $pid
        port=$((port + 2))
    done
}
it_answers_or_ended() { (cd "$source/test/server" && luajit ping.lua "$dir/s") || ! kill -0 "$pid"; }

for workers in 1 2; do
    start $workers
    timeout "$((patience * 2))" python3 "$source/test/server/tls.py" "$dir" $((port + 1)) $port "$pid" $workers \
        >"$dir/out" 2>"$dir/err"
    note $? "test/server/tls.py with $workers workers"
    [ -n "${TLS_TIMES:-}" ] && cat "$dir/out"
    [ "$failed" = 0 ] || tail -n 5 "$dir/log"
    if command -v redis-cli >/dev/null && redis-cli --help 2>&1 | grep -q -- --tls; then
        [ "$(redis-cli --tls --cacert "$dir/ca.pem" -p $((port + 1)) ECHO hello)" = hello ]
        note $? "redis-cli --tls"
        seq 1 20000 | sed 's/.*/SET k& &/' | redis-cli --tls --cacert "$dir/ca.pem" -p $((port + 1)) --pipe |
            grep -q 'errors: 0, replies: 20000'
        note $? "redis-cli --tls --pipe"
    fi
    kill $pid && wait $pid
    note $? "the server ends in order"
    pid=
    rm -f "$dir"/a.caret*

    start $workers
    timeout "$((patience * 2))" python3 "$source/test/server/tls.py" "$dir" $((port + 1)) $port "$pid" $workers taken_over \
        >"$dir/out" 2>"$dir/err"
    note $? "test/server/tls.py: another server takes over from $workers workers"
    wait $pid
    note $? "the server ends after the last connection with TLS"
    pid=
    rm -f "$dir"/a.caret*
done

finish
