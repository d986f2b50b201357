#!/bin/sh
# The page of `caret web` in chromium, as a user would use it (test/web/page.py). Pictures of it are left in web/ of the
# build folder. axe-core, which judges what a screen reader gets, comes from npm and stays in clients/.

# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
need caret chromium chromedriver
python=/usr/bin/python3 # Debian's own, which has its packages
[ -x $python ] || python=python3
if ! $python -c 'import selenium' 2>/dev/null; then
    echo "skipped: python3-selenium is not installed (make deps installs it)"
    exit 77
fi
"$caret" set --db "$dir/try.caret" '^a' 1
keep timeout 1 "$caret" web --db "$dir/try.caret" --port 0
if grep -q 'is not installed\|has no page' "$dir/err"; then
    echo "skipped: $(cat "$dir/err")"
    exit 77
fi

version=4.10.3
cache=$build/clients/axe
axe=$cache/node_modules/axe-core/axe.min.js
if [ ! -s "$axe" ] && command -v npm >/dev/null; then
    mkdir -p "$cache"
    (cd "$cache" && echo '{"private": true}' >package.json &&
        timeout "$patience" npm install --fetch-retries=0 --no-audit --no-fund axe-core@$version >log 2>&1)
fi
[ -s "$axe" ] && export CARET_AXE="$axe"

export CARET="$caret" CARET_SOURCE="$source" CARET_PICTURES="$build/web" CARET_PATIENCE="$patience"
export PYTHONDONTWRITEBYTECODE=1
# shellcheck source=../store/postgres.sh
. "$source/test/store/postgres.sh"
beside=
pg_find && beside="sh $source/test/with_postgres.sh"
# shellcheck disable=SC2086 # words
timeout $((4 * patience)) $beside "$python" "$source/test/web/page.py" "$@" </dev/null
