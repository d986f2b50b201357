#!/bin/sh
# tools/page.sh FOLDER OUT: the page of `caret web` names its files by a version, so that a browser keeps them.
#
# OUT/version is a hash of all files in FOLDER, and OUT/index.html.gz has their names as v-VERSION/NAME.

set -eu
version=$(cd "$1" && find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c1-16)
printf '%s' "$version" >"$2/version"
sed -E "s|(href\|src)=\"([a-z0-9]+\.(js\|css\|svg))\"|\1=\"v-$version/\2\"|" "$1/index.html" | gzip -9nc >"$2/index.html.gz"
