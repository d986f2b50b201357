#!/bin/sh
# redis-rs, by cargo: its own tests start servers of their own, so a program of ours.

# shellcheck source=test/torture/clients/common.sh
. "$CARET_SOURCE/test/torture/clients/common.sh"
client redis_rs cargo
copy() { mkdir -p src && cp "$here/redis_rs_program.rs" src/main.rs; }
install()
{
    copy && printf '[package]\nname = "program"\nversion = "0.0.0"\nedition = "2021"\n' >Cargo.toml &&
        printf '[dependencies]\nredis = "0.27"\n' >>Cargo.toml && cargo build
}
fetch
(cd "$cache" && copy && cargo build >build.log 2>&1) || { cat "$cache/build.log" && exit 1; }
beside "$cache/target/debug/program"
finish
