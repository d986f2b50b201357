#!/bin/sh
# tools/deb.sh [--quick BUILD] [FOLDER]: Debian packages of this tree in FOLDER (build/deb), which is made anew, and what
# lintian says of them.  They are built in a copy there, of the files that git knows or would take: nothing is left in
# the tree.  DEB_BUILD_OPTIONS is heeded.
#
# --quick BUILD, for a test: of what that folder has built, neither stripped nor compressed, without source and debug
# packages, and without lintian.

set -eu
cd "$(dirname "$0")/.."
quick=
if [ "${1-}" = --quick ]; then
    quick=1
    CARET_BUILT=$(cd "$2" && pwd)
    shift 2
    export CARET_BUILT DEB_BUILD_OPTIONS="nostrip noautodbgsym ${DEB_BUILD_OPTIONS-}" DPKG_DEB_COMPRESSOR_TYPE=none
fi
folder=${1:-build/deb}

missing=
for program in dpkg-buildpackage dh cmake ninja git; do
    command -v $program >/dev/null || missing="$missing $program"
done
if [ -n "$missing" ]; then
    echo "Missing:$missing (in Debian: dpkg-dev debhelper cmake ninja-build git)" >&2
    exit 1
fi

version=$(dpkg-parsechangelog -S Version)
if ! grep -q "^project(caret VERSION $version " CMakeLists.txt; then
    echo "debian/changelog has version $version, CMakeLists.txt another" >&2
    exit 1
fi
rm -rf "$folder"
mkdir -p "$folder/caret-$version"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp -p --parents -t "$folder/caret-$version"
cd "$folder"
# The packages that the build needs are those of `make deps`, by whatever way they came.
if ! (cd "caret-$version" && dpkg-buildpackage -us -uc -d ${quick:+-b}) >build.log 2>&1; then
    tail -n 40 build.log >&2
    exit 1
fi
rm -r "caret-$version"
if [ -n "$quick" ]; then
    exit
elif command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error,warning "caret_${version}_$(dpkg --print-architecture).changes"
else
    echo "lintian is not installed: nobody has looked at the packages"
fi
echo "$folder:"
ls ./*.deb
