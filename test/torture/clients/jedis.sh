#!/bin/sh
# Jedis, from Maven Central: a program of ours.

# shellcheck source=test/torture/clients/common.sh
. "$CARET_SOURCE/test/torture/clients/common.sh"
client jedis java javac mvn
install()
{
    mvn -q -B dependency:get -Dartifact=redis.clients:jedis:5.1.5 &&
        for jar in redis/clients/jedis/5.1.5 org/apache/commons/commons-pool2 org/json/json com/google/code/gson/gson \
            org/slf4j/slf4j-api; do
            find "$HOME/.m2/repository/$jar" -name '*.jar' | tail -n 1 | xargs -I{} cp {} . || return 1
        done && cp "$here/JedisProgram.java" . && javac -cp '*' JedisProgram.java
}
fetch
cp "$here/JedisProgram.java" "$cache/" && (cd "$cache" && javac -cp '*' JedisProgram.java) || exit 1
beside java -cp "$cache:$cache/*" JedisProgram
finish
