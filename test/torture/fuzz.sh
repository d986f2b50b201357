#!/bin/sh
# Each libFuzzer target of test/fuzz from its corpus and a seed that is told: ten minutes each, CARET_TORTURE=n times as
# long; CARET_FUZZ_SECONDS=n instead. What it finds stays in build/test-log.

logs=$CARET_SOURCE/build/test-log
build=$CARET_SOURCE/build-fuzz
seconds=${CARET_FUZZ_SECONDS:-$((600 * ${CARET_TORTURE:-1}))}
seed=${CARET_SEED:-$(date +%s)}
mkdir -p "$logs"
if ! command -v clang >/dev/null; then
    echo "skipped: clang is not installed"
    exit 0
fi
if ! { cmake --preset fuzz && cmake --build --preset fuzz --target fuzzers; } >"$logs/fuzz-build.log" 2>&1; then
    tail -n 40 "$logs/fuzz-build.log"
    exit 1
fi
failed=0
for program in "$build"/fuzz/fuzz_*; do
    [ -x "$program" ] || continue
    name=$(basename "$program")
    seeds=$CARET_SOURCE/test/fuzz/corpus/$name
    corpus=$(mktemp -d) || exit 1
    [ -d "$seeds" ] && cp -r "$seeds/." "$corpus"
    if "$program" -seed="$seed" -max_total_time="$seconds" -timeout=100 -len_control=0 -max_len=4096 \
        -artifact_prefix="$logs/$name-" "$corpus" >"$logs/$name.log" 2>&1 </dev/null; then
        echo "$name: $(sed -n 's/^\(Done .*\)/\1/p' "$logs/$name.log"), seed $seed"
    else
        failed=1
        echo "$name: FAILED, seed $seed: $logs/$name.log"
        tail -n 40 "$logs/$name.log"
    fi
    rm -rf "$corpus"
done
exit $failed
