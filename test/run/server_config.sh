#!/bin/sh
# redis.conf: what is read, what is refused and how, and CONFIG REWRITE, beside redis-server where that is installed.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret luajit
server=$build/caret-server
[ -x "$server" ] || { echo "skipped: the server is not built" && exit 77; }
pid=
trap '[ -n "$pid" ] && kill $pid 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# refused text line: a file with that line ends the start with status 2, and one line that has the text
refused()
{
    printf '%s\n' "$2" >"$dir/bad.conf"
    keep "$server" "$dir/x.caret" --config "$dir/bad.conf" --shm-dir "$dir" --port 0
    status=$?
    [ $status = 2 ]
    note $? "$2: status $status"
    grep -qF -- "$1" "$dir/err" && [ "$(wc -l <"$dir/err")" = 1 ]
    note $? "$2: one line with: $1"
}

refused 'bad.conf:1: nonsense: Bad directive' 'nonsense 1'
refused 'replicaof 10.0.0.1 6379: this server does not replicate' 'replicaof 10.0.0.1 6379'
refused 'this server does not replicate' 'slaveof 10.0.0.1 6379'
refused 'cluster-enabled yes: there is no cluster' 'cluster-enabled yes'
refused 'min-replicas-to-write 1: there are no replicas' 'min-replicas-to-write 1'
refused 'syslog-enabled yes: this server writes its log' 'syslog-enabled yes'
refused 'loadmodule: there are no modules' 'loadmodule /x.so'
refused 'No such command in rename-command' 'rename-command nothing x'
refused 'Target command name already exists' 'rename-command get set'
refused 'rename-command: Bad directive' 'rename-command get'
refused "Error in user declaration 'bob': Syntax error" 'user bob nonsense'
refused 'include: /nonexistent/file: No such file or directory' 'include /nonexistent/file'
refused 'timeout: Bad directive' 'timeout'
refused 'sentinel directive while not in sentinel mode' 'sentinel x'
refused 'too many files that include files' "include $dir/bad.conf"
refused 'bad.conf:1: Unbalanced quotes' 'requirepass "x'
refused 'argument must be between 0 and 65535' 'port 65536'
refused "argument couldn't be parsed as an octal number" 'unixsocketperm 9'
refused 'argument must be between 0 and 777 inclusive' 'unixsocketperm 1000'
refused 'map-prefix: the second word is the name of a global' 'map-prefix user: user :'
refused 'map-prefix: the second word is the name of a global' 'map-prefix user: ^redis1 :'
refused 'map-prefix: the prefix has a byte at least' 'map-prefix "" ^user :'
refused 'map-prefix: Bad directive' 'map-prefix user: ^user'
printf 'user a on\nuser a off\n' >"$dir/two.conf"
refused 'two.conf:2: user: Duplicate user found' "include $dir/tw*.conf"
printf 'aclfile %s/users\nuser a on\n' "$dir" >"$dir/both.conf"
refused 'users are either lines of redis.conf or in an aclfile' "include $dir/both.conf"
refused 'Is a directory' "include $dir"
keep "$server" "$dir/x.caret" --config "$dir" --shm-dir "$dir" --port 0 --unix "$dir/s"
status=$?
[ $status = 2 ] && grep -qF "$dir: Is a directory" "$dir/err"
note $? "a folder is not a configuration: status $status"
keep "$server" "$dir/x.caret" --bind nohost --shm-dir "$dir" --port 1
status=$?
[ $status = 3 ] && grep -qF 'nohost: no IP address: --bind takes' "$dir/err"
note $? "a name is not an address: status $status"

keep "$server" "$dir/x.caret" --shm-dir "$dir" --port 0
status=$?
[ $status = 2 ] && grep -qF 'nowhere to listen: give a --port other than 0' "$dir/err" && [ ! -e "$dir/x.caret" ]
note $? "a server without a door: status $status, and no database"

# unusable text arguments...: what they name can't be used, which is status 3
unusable()
{
    text=$1
    shift
    keep "$server" "$dir/x.caret" --shm-dir "$dir" --port 0 --unix "$dir/s" "$@"
    status=$?
    [ $status = 3 ] && grep -qF -- "$text" "$dir/err"
    note $? "$*: status $status, and $text"
}
echo >"$dir/plain"
unusable 'plain: a file that is not a socket: choose another with --unix' --unix "$dir/plain"
unusable "opening file '$dir/none': No such file" --aclfile "$dir/none"
printf 'aclfile %s/none\n' "$dir" >"$dir/file.conf"
unusable "opening file '$dir/none': No such file" --config "$dir/file.conf"
for bad in --nosuch --port -p; do
    keep "$server" "$dir/x.caret" --shm-dir "$dir" $bad
    [ $? = 2 ]
    note $? "$bad is misuse"
    case $bad in --nosuch) grep -q 'nosuch: there is no such option' "$dir/err" ;; --port) grep -q 'it needs a value' "$dir/err" ;; esac
    note $? "and told as what it is"
done
keep "$caret" serve "$dir/x.caret" --nosuch
[ $? = 2 ] && grep -q 'nosuch: there is no such option' "$dir/err"
note $? "so by caret serve"
rm -f "$dir"/*.conf

# ask socket word...: what the server there answers, an array as its elements with spaces
ask()
{
    (cd "$source/test/server" && luajit - "$@") <<'END'
    local c = assert(require("resp").connect(arg[1]))
    local function text(v)
        if type(v) ~= "table" or v == require("resp").null then return tostring(v) end
        if v.error then return v.error end
        local t = {}
        for i, one in ipairs(v) do t[i] = text(one) end
        return table.concat(t, " ")
    end
    if os.getenv("USER_AND_PASSWORD") then c("AUTH", os.getenv("USER_AND_PASSWORD"):match("(.*) (.*)")) end
    print(text(c(unpack(arg, 2))))
END
}

# is wanted socket word...
is()
{
    want=$1
    shift
    got=$(ask "$@")
    [ "$got" = "$want" ]
    status=$?
    [ $status = 0 ] || echo "got: $got" >"$dir/out"
    note $status "$*: $want"
}

# start arguments...
start()
{
    "$server" "$dir/a.caret" --shm-dir "$dir" --unix "$dir/s" "$@" 2>"$dir/log" &
    pid=$!
    soon ask "$dir/s" PING
}

stop()
{
    kill "$pid" && wait "$pid"
    pid=
}

# Lists of nothing: Redis' own tests write `save` so.
printf 'save\nsave 5 1\nsave\nclient-output-buffer-limit\nlatency-tracking-info-percentiles\nport 0\n' >"$dir/empty.conf"
start --config "$dir/empty.conf"
is 'save 5 1' "$dir/s" CONFIG GET save
is 'latency-tracking-info-percentiles ' "$dir/s" CONFIG GET latency-tracking-info-percentiles
is 'client-output-buffer-limit normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60' \
    "$dir/s" CONFIG GET client-output-buffer-limit
stop
rm "$dir/empty.conf"

# What is changed on both servers before they write their files.
change()
{
    ask "$1" CONFIG SET hash-max-listpack-value 65 notify-keyspace-events KEA repl-backlog-size 1000001
    ask "$1" CONFIG SET masteruser "a\"$(printf '\001\303\274')" save '900 1 10 5' maxmemory 3gb slowlog-max-len 7
    ask "$1" CONFIG SET client-output-buffer-limit 'pubsub 32mb 9mb 60' proto-max-bulk-len 8mb
    ask "$1" CONFIG SET shutdown-on-sigterm 'now nosave' shutdown-on-sigint SAVE oom-score-adj-values '1 2 3'
    ask "$1" ACL SETUSER carl on '~*' '>x'
    ask "$1" ACL SETUSER bob '%R~b*'
    ask "$1" CONFIG REWRITE
}

cat >"$dir/old.conf" <<END
# a comment
PORT 0
   save 900 1 @
# another
save 300 10
save 60 10000


hz 11
# twice
hz 10
include $dir/more*.conf
client-output-buffer-limit normal 1mb 0 0
loglevel verbose
masterauth "c\x00d\xff"
bind 127.0.0.1 -::1
SLAVE-announce-ip "1.2.3.4"
rename-command get holen
rename-command XLEN b840fc02d524045429941cc15f59e41cb7be6c52
appendonly yes
dir "$dir"
user bob on >x ~a* +get
# the end
END
sed -i 's/@$/  /' "$dir/old.conf"
echo 'timeout 77' >"$dir/more1.conf"
echo 'timeout 78' >"$dir/more2.conf"
cp "$dir/old.conf" "$dir/ours.conf"
cp "$dir/old.conf" "$dir/theirs.conf"

start --config "$dir/ours.conf"
is 'timeout 78' "$dir/s" CONFIG GET timeout
is 'save 900 1 300 10 60 10000' "$dir/s" CONFIG GET save
is OK "$dir/s" SET a 1
is 1 "$dir/s" holen a
is "ERR unknown command 'GET', with args beginning with: 'a' " "$dir/s" GET a
is "ERR wrong number of arguments for 'get' command" "$dir/s" holen
is 0 "$dir/s" b840fc02d524045429941cc15f59e41cb7be6c52 nothing
is 1 "$dir/s" EVAL "return redis.call('holen', 'a')" 0
ask "$dir/s" EVAL "return redis.call('get', 'a')" 0 | grep -q 'Unknown Redis command called from script'
note $? "nor is it there for scripts by its old name"
is a "$dir/s" COMMAND GETKEYS holen a
ask "$dir/s" COMMAND INFO GET | grep -q '^null$'
note $? "COMMAND INFO does not know the old name"
USER_AND_PASSWORD='bob x' is 'NOPERM this user has no permissions to access one of the keys used as arguments' \
    "$dir/s" holen b
is OK "$dir/s" CONFIG SET port 0
change "$dir/s" >"$dir/ours.out"
ask "$dir/s" CONFIG GET '*' >"$dir/before"
ask "$dir/s" ACL LIST >>"$dir/before"
stop
[ "$(tail -n 1 "$dir/ours.out")" = OK ]
note $? "CONFIG REWRITE answers OK"

# By the new file alone all is as it was.
start --config "$dir/ours.conf"
ask "$dir/s" CONFIG GET '*' >"$dir/after"
ask "$dir/s" ACL LIST >>"$dir/after"
cmp -s "$dir/before" "$dir/after"
note $? "a server that starts with the new file has the same parameters and users"
cp "$dir/ours.conf" "$dir/once.conf"
is OK "$dir/s" CONFIG REWRITE # as in Redis it says one class of output limits more
cp "$dir/ours.conf" "$dir/twice.conf"
is OK "$dir/s" CONFIG REWRITE
cmp -s "$dir/ours.conf" "$dir/twice.conf"
note $? "another CONFIG REWRITE changes nothing"
is OK "$dir/s" CONFIG SET min-replicas-to-write 1
is 'ERR Rewriting config file: min-replicas-to-write 1: there are no replicas to wait for: take the line out' \
    "$dir/s" CONFIG REWRITE
is OK "$dir/s" CONFIG SET min-replicas-to-write 0
cmp -s "$dir/ours.conf" "$dir/twice.conf"
note $? "nor does one that the next start would refuse"
[ -z "$(find "$dir" -name 'ours.conf-*')" ]
note $? "it leaves no file beside it"
is OK "$dir/s" DEBUG CONFIG-REWRITE-FORCE-ALL
stop
start --config "$dir/ours.conf"
ask "$dir/s" CONFIG GET '*' >"$dir/after"
ask "$dir/s" ACL LIST >>"$dir/after"
cmp -s "$dir/before" "$dir/after" && grep -q '^lfu-log-factor 10$' "$dir/ours.conf"
note $? "nor does a file with all parameters"
rm "$dir/ours.conf" && mkdir "$dir/ours.conf"
ask "$dir/s" CONFIG REWRITE | grep -q '^ERR Rewriting config file: '
note $? "it says so if the file can't be written"
rmdir "$dir/ours.conf"
ln -s /dev/null "$dir/ours.conf"
is 'ERR Rewriting config file: it is not a regular file, and stays what it is' "$dir/s" CONFIG REWRITE
[ -c "$dir/ours.conf" ]
note $? "a device is left alone"
rm "$dir/ours.conf"
stop
start --port 0
is "dir $(pwd -P)" "$dir/s" CONFIG GET dir
is 'ERR The server is running without a config file' "$dir/s" CONFIG REWRITE
stop

# Users of a file have what acl-pubsub-default says, unless their lines say more.
printf 'user a on nopass +@all\nuser b on nopass resetchannels +@all\n' >"$dir/users.acl"
start --port 0 --aclfile "$dir/users.acl" --acl-pubsub-default allchannels
users='user a on nopass &* +@all user b on nopass resetchannels +@all user default on nopass ~* &* +@all'
is "$users" "$dir/s" ACL LIST
is OK "$dir/s" ACL LOAD
is "$users" "$dir/s" ACL LIST
is OK "$dir/s" ACL SAVE
ln -sf /dev/null "$dir/users.acl"
ask "$dir/s" ACL SAVE | grep -q '^ERR There was an error trying to save the ACLs' && [ -c "$dir/users.acl" ]
note $? "users are not saved in place of a device"
stop

# In the background: the process that was started ends at once.
keep "$server" "$dir/a.caret" --shm-dir "$dir" --unix "$dir/s" --port 0 --daemonize yes --pidfile "$dir/pid" \
    --logfile "$dir/server.log"
note $? "--daemonize yes ends at once"
soon ask "$dir/s" PING
pid=$(cat "$dir/pid")
[ "$(ask "$dir/s" CONFIG GET logfile)" = "logfile $dir/server.log" ] && kill -0 "$pid"
note $? "the pidfile has the number of the server"
kill "$pid"
pid=
soon test ! -e "$dir/pid"
note $? "the server ends and takes the pidfile along"
grep -q '1 worker, port 0' "$dir/server.log"
note $? "its log is in the logfile"

# Redis writes the same lines; its order of those that are added is not one.
if command -v redis-server >/dev/null; then
    redis-server "$dir/theirs.conf" --unixsocket "$dir/r" >"$dir/redis.log" 2>&1 &
    pid=$!
    soon ask "$dir/r" PING
    change "$dir/r" >"$dir/theirs.out"
    stop
    cmp "$dir/ours.out" "$dir/theirs.out" >"$dir/out"
    note $? "redis-server answers the same"
    old() { sed '/^# Generated by/q' "$1"; }
    added() { sed '1,/^# Generated by/d' "$1" | grep -v '^unixsocket ' | sed '$a\' | sort; }
    for part in old added; do
        $part "$dir/once.conf" >"$dir/ours.$part"
        $part "$dir/theirs.conf" >"$dir/theirs.$part"
        diff "$dir/theirs.$part" "$dir/ours.$part" >"$dir/out"
        note $? "lines that are $part are those of redis-server"
    done
fi

finish
