# shellcheck shell=sh disable=SC2034 # what the others use
# PostgreSQL for tests, sourced: servers of one's own, as an ordinary user, on unix sockets in a short folder.
#
#   pg_begin                          find PostgreSQL and make the folder $pg_folder, or exit 77 with a word
#   pg_make NAME [LINE...]            a new server, with these lines of postgresql.conf
#   pg_copy NAME FROM [LINE...]       a standby of FROM: NAME replays what FROM logs
#   pg_start NAME, pg_stop NAME [-m]  wait until it answers; until it is gone (fast, or the given mode)
#   pg_kill NAME                      kill -9 of all its processes, as by a loss of the machine
#   pg_sync NAME                      from now on its commits wait for its standby, which is there
#   pg_unfollow NAME                  a standby gets nothing any more
#   pg_promote NAME                   a standby becomes a primary
#   pg_url NAME...                    the URL of one server, or of several: "the one that takes writes"
#   pg_sql NAME STATEMENT             what it answers, columns with | between
#   pg_proxy NAME SERVER              a proxy (proxy.c) before the server, with the name and URL as of a server
#   pg_tell NAME COMMAND              what it is to do, which is done then; pg_heard NAME: what it said last
#   pg_end                            ends all and removes the folder (trap ... EXIT)
#
# A server is $pg_folder/NAME/data, with its log $pg_folder/NAME/log and its socket in $pg_folder/NAME.  As root they run
# as the user nobody, as PostgreSQL refuses to be root.  There is no port on any network, unless a line of the
# configuration asks for it.  Shared memory is anonymous or in the folder, so nothing is in /dev/shm.
#
# What a killed script leaves: nothing.  A guard of its own session waits for the end of a pipe, of which only the
# script has the other end (descriptor 9, and 8 and 7 of proxies; what outlives the script is started with 9>&- 8>&- 7>&-), and does what pg_end does.

pg_user=caret
pg_as=

# The folder of PostgreSQL's programs: the newest of Debian's, else those in the PATH.
pg_find()
{
    for pg_bin in $(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin 2>/dev/null | sort -t/ -k5 -rV) ''; do
        [ -x "$pg_bin/initdb" ] && [ -x "$pg_bin/postgres" ] && return
    done
    pg_bin=$(command -v initdb) && pg_bin=$(dirname "$(readlink -f "$pg_bin")") && [ -x "$pg_bin/postgres" ]
}

# pg_run command...: as the user of the servers, without what the guard and the proxy wait for
pg_run() { (cd "$pg_folder" && exec $pg_as "$@" 9>&- 8>&- 7>&- </dev/null); }

pg_begin()
{
    if ! pg_find; then
        echo "skipped: PostgreSQL is not installed (make deps installs it)"
        exit 77
    fi
    if [ "$(id -u)" = 0 ]; then
        pg_as="setpriv --reuid=nobody --regid=$(id -g nobody) --clear-groups"
        if ! $pg_as true 2>/dev/null; then
            echo "skipped: this root can't become the user nobody, and PostgreSQL refuses to be root"
            exit 77
        fi
    fi
    pg_folder=$(mktemp -d /tmp/caret-pg-XXXXXX) || exit 1 # short, as a socket's path has 107 bytes at most
    chmod 755 "$pg_folder"
    [ -z "$pg_as" ] || chown nobody "$pg_folder"
    mkfifo "$pg_folder/guard" || exit 1
    pg_guard &
    exec 9>"$pg_folder/guard"
}

# Postmasters of the folder, as "name pid".
pg_running()
{
    for pg_pid in "$pg_folder"/*/data/postmaster.pid; do
        [ -f "$pg_pid" ] && echo "$(basename "${pg_pid%/data/*}") $(head -n 1 "$pg_pid")"
    done
}

pg_clean()
{
    pg_running | while read -r name pid; do
        # SIGQUIT: at once; of a postmaster only, as the number may be another's by now
        grep -qs "postgres" "/proc/$pid/cmdline" && kill -QUIT "$pid"
        pg_gone "$pid"
        pg_forget "$name"
    done
    rm -rf "$pg_folder"
}

# In the background: when the script has ended, however, what it left is cleaned up.
pg_guard()
{
    trap '' HUP INT TERM
    trap - EXIT
    read -r _ <"$pg_folder/guard"
    [ -d "$pg_folder" ] && pg_clean
} >/dev/null 2>&1 </dev/null 9>&- 8>&- 7>&-

pg_end()
{
    exec 9>&- 8>&- 7>&-
    wait # for the guard, and the proxy
    [ ! -d "$pg_folder" ]
}

# Until the process is no more.
pg_gone()
{
    while [ -d "/proc/$1" ] && ! grep -qs '^State:.Z' "/proc/$1/status"; do
        sleep 0.02
    done
}

# The proxy's commands come by a descriptor of the script alone: it ends with it.  Two at most: descriptors 8 and 7.
pg_proxy()
{
    mkdir -p "$pg_folder/$1" && mkfifo "$pg_folder/$1/commands" || return 1
    "${CARET_PROXY:-${CARET_BUILD:-build}/test/proxy}" "$pg_folder/$1/.s.PGSQL.5432" "$pg_folder/$2/.s.PGSQL.5432" \
        <"$pg_folder/$1/commands" >"$pg_folder/$1/heard" 9>&- 8>&- 7>&- &
    pg_proxies="$1 ${pg_proxies:-}"
    if [ "$pg_proxies" = "$1 " ]; then
        exec 8>"$pg_folder/$1/commands"
    else
        exec 7>"$pg_folder/$1/commands"
    fi
    until grep -qs ready "$pg_folder/$1/heard"; do
        sleep 0.02
    done
}

pg_heard() { tail -n 1 "$pg_folder/$1/heard"; }

# It does one after the other, so what it says to a count is after what it is told before.
pg_tell()
{
    pg_before=$(wc -l <"$pg_folder/$1/heard")
    case $pg_proxies in
    *" $1 " | "$1 ") printf '%s\ncount\n' "$2" >&8 ;;
    *) printf '%s\ncount\n' "$2" >&7 ;;
    esac
    until [ "$(wc -l <"$pg_folder/$1/heard")" -gt "$pg_before" ]; do
        sleep 0.01
    done
}

# The segment of System V that shows a killed postmaster's successor that somebody is still there: 56 bytes for ever.
pg_forget()
{
    # shellcheck disable=SC2046 # key and number
    set -- $(sed -n 7p "$pg_folder/$1/data/postmaster.pid" 2>/dev/null) "" ""
    [ -z "$2" ] || ipcrm -m "$2" 2>/dev/null
}

# pg_configure name line...
pg_configure()
{
    pg_name=$1
    shift
    {
        cat <<CONF
listen_addresses = ''
unix_socket_directories = '$pg_folder/$pg_name'
fsync = off
max_connections = 100
shared_buffers = 32MB
dynamic_shared_memory_type = mmap
jit = off
autovacuum_naptime = 1h
max_wal_senders = 4
wal_keep_size = 64MB
wal_retrieve_retry_interval = 100ms
log_min_messages = fatal
CONF
        printf '%s\n' "$@"
    } >>"$pg_folder/$pg_name/data/postgresql.conf"
}

pg_make()
{
    pg_run mkdir -p "$1" || return 1
    pg_run "$pg_bin/initdb" -D "$1/data" -U $pg_user -A trust -N -E UTF8 --locale=C >"$pg_folder/$1.initdb" 2>&1 ||
        { cat "$pg_folder/$1.initdb" && return 1; }
    pg_configure "$@"
    pg_start "$1" && pg_sql "$1" "create database $pg_user" postgres >/dev/null
}

pg_copy()
{
    pg_name=$1
    pg_from=$2
    shift 2
    rm -rf "${pg_folder:?}/$pg_name"
    pg_run mkdir -p "$pg_name" || return 1
    pg_run "$pg_bin/pg_basebackup" -D "$pg_name/data" -N -R -c fast -U $pg_user \
        -d "host=$pg_folder/$pg_from application_name=$pg_name" || return 1
    pg_configure "$pg_name" "$@"
    pg_start "$pg_name"
}

pg_start()
{
    pg_run "$pg_bin/pg_ctl" -D "$1/data" -l "$1/log" -w -t 60 -s start >/dev/null ||
        { tail -n 20 "$pg_folder/$1/log" && return 1; }
}

# Also when it is there no more.
pg_stop()
{
    pg_run "$pg_bin/pg_ctl" -D "$1/data" -w -t 60 -s -m "${2:-fast}" stop >/dev/null 2>&1
}

# The processes of a postmaster, and itself first, so that it starts no others.
pg_kill()
{
    pg_pid=$(head -n 1 "$pg_folder/$1/data/postmaster.pid") || return 1
    pg_forget "$1"
    kill -STOP "$pg_pid"
    pg_children=$(cat "/proc/$pg_pid/task/$pg_pid/children")
    # shellcheck disable=SC2086 # numbers
    kill -KILL "$pg_pid" $pg_children 2>/dev/null
    pg_gone "$pg_pid"
}

pg_reload() { pg_run "$pg_bin/pg_ctl" -D "$1/data" -s reload; }

pg_until()
{
    until [ "$(pg_sql "$1" "$2")" = "$3" ]; do
        sleep 0.05
    done
}

pg_sync()
{
    pg_until "$1" "select count(*) from pg_stat_replication where state = 'streaming'" 1
    echo "synchronous_standby_names = '*'" >>"$pg_folder/$1/data/postgresql.conf"
    pg_reload "$1" && pg_until "$1" "select sync_state from pg_stat_replication" sync
}

pg_unfollow()
{
    echo "primary_conninfo = ''" >>"$pg_folder/$1/data/postgresql.auto.conf"
    pg_reload "$1" && pg_until "$1" 'select count(*) from pg_stat_wal_receiver' 0
}

pg_promote() { pg_run "$pg_bin/pg_ctl" -D "$1/data" -w -t 60 -s promote >/dev/null; }

# A path as the host of a URL: its / are %2F.
pg_host() { printf '%s' "$pg_folder/$1" | sed 's|/|%2F|g'; }

pg_url()
{
    pg_hosts=$(pg_host "$1")
    [ $# -gt 1 ] && pg_hosts=$pg_hosts,$(pg_host "$2")
    printf 'postgresql://%s@%s/%s' $pg_user "$pg_hosts" $pg_user
    [ $# -gt 1 ] && printf '?target_session_attrs=read-write'
    echo
}

pg_sql()
{
    PGHOST=$pg_folder/$1 PGUSER=$pg_user "$pg_bin/psql" -XqAt -v ON_ERROR_STOP=1 -d "${3:-$pg_user}" -c "$2" 9>&- 8>&- 7>&-
}
