#!/bin/sh
# Installs the packages of tools/packages.txt that are missing.
#
#   tools/deps.sh            install (apt-get, as root or with sudo); when that
#                            can't be done, say which are needed and exit 1
#   tools/deps.sh --build    install nothing; exit 1 and say so when something
#                            that the build needs is not there
#   tools/deps.sh --rivals   install what is in tools/rivals.txt as well
#
# When everything is there already, nothing is asked of any package server.

set -u
cd "$(dirname "$0")/.." || exit 1
list=tools/packages.txt
more=
[ "${1-}" = --rivals ] && more=tools/rivals.txt

check_build()
{
    missing=
    for program in cmake ninja; do
        command -v $program >/dev/null || missing="$missing $program"
    done
    command -v "${CC:-cc}" >/dev/null || missing="$missing C-compiler"
    for version in 5.4 5.1; do
        found=
        for folder in /usr/include /usr/local/include; do
            [ -f "$folder/lua$version/lua.h" ] && found=1
        done
        [ $version = 5.1 ] && [ -f /usr/include/luajit-2.1/lua.h ] && found=1
        [ "$found" ] || missing="$missing Lua-$version-headers"
    done
    [ -f /usr/include/histedit.h ] || [ -f /usr/local/include/histedit.h ] || missing="$missing libedit"
    [ -z "$missing" ] && exit 0
    echo "Missing:$missing"
    echo "Run 'make deps' to install what is needed (the packages are in $list)."
    exit 1
}

[ "${1-}" = --build ] && check_build

required_names() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' -e '/^?/d' $list $more; }
optional_names() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -n -e 's/^?//p' $list $more; }

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
available() { apt-cache policy "$1" 2>/dev/null | grep -q '^ *Candidate: [^(]'; }
clang_version() { apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1; }

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "This is not a Debian or Ubuntu system. Needed, by their Debian names:"
    required_names | sed 's/^/    /'
    echo "Useful for more tests:"
    optional_names | sed 's/^/    /'
    exit 1
fi

find_missing()
{
    required=
    optional=
    for package in $(required_names); do
        installed "$package" || required="$required $package"
    done
    for package in $(optional_names); do
        case $package in
        *@clang@*)
            version=$(clang_version)
            [ -z "$version" ] && continue
            package=$(echo "$package" | sed "s/@clang@/$version/")
            ;;
        esac
        installed "$package" || optional="$optional $package"
    done
}

find_missing
[ -z "$required$optional" ] && exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo true; }; }; then
        as_root="sudo"
    elif [ -z "$required" ]; then
        echo "Not installed, optional:$optional"
        exit 0
    else
        echo "These packages are needed, and neither root nor sudo is there to install them:"
        echo "    apt-get install$required"
        [ -n "$optional" ] && echo "Optional:$optional"
        exit 1
    fi
fi

apt()
{
    # shellcheck disable=SC2086 # an empty $as_root is not a word
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o Acquire::Retries=2 -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "$@" </dev/null
}

# PostgreSQL's package makes a database of the system and starts it, unless a file says otherwise: it is there while the
# packages are installed, and only if the system has had nothing of PostgreSQL, so that nobody's choice is changed.
no_cluster=/etc/postgresql-common/createcluster.d/caret.conf
without_cluster()
{
    case " $wanted " in
    *" postgresql "*) ;;
    *) return ;;
    esac
    if ! installed postgresql-common; then
        trap '$as_root rm -f $no_cluster' EXIT
        $as_root mkdir -p "$(dirname $no_cluster)"
        echo "create_main_cluster = false" | $as_root tee $no_cluster >/dev/null
    fi
}

# Fetch the lists of packages if something needed is not in them, or there are none.
stale=
for package in $required; do
    available "$package" || stale=1
done
available libc6-dev || stale=1
if [ "$stale" ]; then
    echo "Updating the package lists"
    apt update || echo "apt-get update failed; going on with what is known"
    find_missing
fi

if [ -n "$required" ]; then
    echo "Installing$required"
    # shellcheck disable=SC2086 # a list of words
    if ! apt install --no-install-recommends --no-remove $required; then
        echo "apt-get could not install the needed packages:$required"
        exit 1
    fi
fi

# Optional ones all at once; if that fails, one by one, so that none takes another with it.
wanted=
for package in $optional; do
    if available "$package"; then
        wanted="$wanted $package"
    else
        echo "$package: not to be had on this system, going on without it"
    fi
done
[ -z "$wanted" ] && exit 0
without_cluster
echo "Installing$wanted"
# shellcheck disable=SC2086 # a list of words
if ! apt install --no-install-recommends --no-remove $wanted; then
    for package in $wanted; do
        apt install --no-install-recommends --no-remove "$package" || echo "$package: not installed, going on without it"
    done
fi
exit 0
