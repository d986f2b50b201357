#!/bin/sh
# The example for OpenResty in docs/guide/prefork.md, served by an nginx with the Lua module: two workers share
# the counters, a worker that is killed takes nothing with it, neither does a reload.
#
# $CARET_NGINX and $CARET_NGINX_MODULES say which nginx it is, and where its modules are.  (On Debian the package
# of the module replaces luajit, so `make deps` does not install it.)

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need perl
cd "$dir" || exit 1
nginx=${CARET_NGINX:-$(command -v openresty || command -v nginx)}
modules=${CARET_NGINX_MODULES:-/usr/lib/nginx/modules}

stop() { [ ! -s nginx.pid ] || kill "$(cat nginx.pid)" 2>/dev/null && soon test ! -e nginx.pid; }
trap 'stop; rm -rf "$dir"' EXIT

# leave reason: the whole test is skipped
leave()
{
    echo "skipped: $1"
    exit 77
}
[ -n "$nginx" ] || leave "neither openresty nor nginx is installed"
[ -d "$build/lua/5.1" ] || leave "the module for Lua 5.1 and LuaJIT is not built"

# ---- the page's blocks, with the places of this test instead of its own
block() { awk -v fence="$1" '$0 == "```" fence { on = 1; next } /^```/ { on = 0 } on' "$source/docs/guide/prefork.md"; }
port=$((20000 + $$ % 20000))
block "lua file site.lua" | sed "s,/var/lib/site,$dir," >site.lua
{
    [ "$(id -u)" = 0 ] && echo "user root;"
    for module in ndk_http_module ngx_http_lua_module; do
        [ -e "$modules/$module.so" ] && echo "load_module $modules/$module.so;"
    done
    printf 'pid %s/nginx.pid;\nerror_log %s/err;\n' "$dir" "$dir"
    block nginx | sed -e "s,/usr/local/share/lua/5.1,$build/lua/5.1,g" -e "s,/usr/local/lib/lua/5.1,$build/lua/5.1,g" \
        -e "s,/srv/site,$dir," -e "s,8080,$port," -e "s,^http {,http { access_log off; client_body_temp_path $dir/b; \
        proxy_temp_path $dir/p; fastcgi_temp_path $dir/f; uwsgi_temp_path $dir/u; scgi_temp_path $dir/s;,"
} >nginx.conf
$nginx -t -p "$dir" -c "$dir/nginx.conf" >out 2>&1 || leave "this nginx can't run the page's configuration: $(head -n 1 out)"

# ask PATH COUNT: the last answer
ask()
{
    perl -MIO::Socket::INET -e '
        my ($port, $path, $count) = @ARGV;
        my $answer;
        for (1 .. $count) {
            my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port) or die "no server\n";
            print $s "GET $path HTTP/1.0\r\n\r\n";
            $answer = join "", <$s>;
        }
        $answer =~ /^HTTP.1.1 200/ or die $answer;
        print +(split /\r\n\r\n/, $answer)[1];' "$port" "$1" "$2" 2>>err
}
workers() { ps -o pid= --ppid "$(cat nginx.pid)" | sort; }

$nginx -p "$dir" -c "$dir/nginx.conf" >out 2>&1
note $? "nginx starts"
for i in 1 2 3 4; do
    ask "/hit?page=a" 100 >"answer$i" &
done
wait
[ "$(ask "/hit?page=a" 1)" = 401 ]
note $? "all hits count, whichever worker served them"
[ "$(ask "/visit?user=ann" 1) $(ask "/visit?user=ann" 3) $(ask "/visit?user=bob" 1)" = "true false true" ]
note $? "a first visit is one for all workers"

kill -9 "$(workers | head -n 1)"
ask "/hit?page=a" 50 >answer # some may have been for the dead one
before=$(ask "/hit?page=a" 1)
[ "$before" -ge 403 ] && [ "$before" -le 452 ]
note $? "a worker is killed, the others go on"
workers >old
reloaded() { [ -n "$(workers)" ] && ! workers | grep -qxFf old; }
$nginx -p "$dir" -c "$dir/nginx.conf" -s reload >out 2>&1
soon reloaded
[ "$(ask "/hit?page=a" 10)" = $((before + 10)) ]
note $? "a reload forgets nothing"
stop
note $? "nginx ends"

finish
