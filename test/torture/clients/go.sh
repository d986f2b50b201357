#!/bin/sh
# go-redis, by Go's module proxy: its own tests need servers of several kinds, so a program of ours.

# shellcheck source=test/torture/clients/common.sh
. "$CARET_SOURCE/test/torture/clients/common.sh"
client go go
install() { cp "$here/go_program.go.txt" main.go && go mod init program && go get github.com/redis/go-redis/v9 && go build -o program .; }
fetch
cp "$here/go_program.go.txt" "$cache/main.go" && (cd "$cache" && go build -o program .) || exit 1
beside "$cache/program"
finish
