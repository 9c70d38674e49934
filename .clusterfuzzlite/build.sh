#!/bin/bash -eu
# Builds every driver into $OUT as OSS-Fuzz wants it: with its compilers, flags and engine to the letter, MPFR and GMP
# linked statically, dictionaries, options and seed corpora beside the drivers.
tree=$SRC/attest

# A folder that holds nothing but the static libraries, searched first, makes the linker take them.
mkdir -p "$WORK/attest-static"
for library in mpfr gmp; do
    found=$(find /usr/lib /usr/local/lib -name "lib$library.a" | head -n 1)
    [ -n "$found" ] || { echo "no lib$library.a" >&2; exit 1; }
    ln -sf "$found" "$WORK/attest-static/"
done

cmake -S "$tree" -B "$WORK/attest-build" -G Ninja \
    -DCMAKE_BUILD_TYPE= \
    -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_CXX_FLAGS="$CXXFLAGS" \
    -DCMAKE_EXE_LINKER_FLAGS="-L$WORK/attest-static" \
    -DLIB_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" \
    -DATTEST_BUILD_TESTS=OFF \
    -DATTEST_BUILD_FUZZERS=ON \
    -DATTEST_INSTALL=OFF \
    -DATTEST_WARNINGS_AS_ERRORS=OFF
cmake --build "$WORK/attest-build" --target fuzzers

# The folders of corpus/ that a driver starts from; scripts/campaign/driver.py has the same.
seed_folders() {
    case "$1" in
    case_bytes) find "$tree/corpus" -mindepth 1 -maxdepth 1 -type d ! -name '*_bytes' ! -name against_the_oracle | sort ;;
    any_session)
        for law in cached_equals_full_prefix snapshot_equals_projected_prefix reset_then_replay_is_identical \
            refusal_changes_nothing retry_equals_never_failed update_or_rebuild_unbinds stale_ticket_is_refused \
            commit_all_is_all_or_nothing copies_are_independent; do
            printf '%s\n' "$tree/corpus/$law"
        done
        ;;
    *) printf '%s\n' "$tree/corpus/$1" ;;
    esac
}

for driver in "$WORK"/attest-build/bin/fuzz_*; do
    name=$(basename -- "$driver")
    cp "$driver" "$OUT/"
    case "$name" in
    *.dict) continue ;;
    esac
    # In the archive a name stands once, and two folders may hold the same.
    rm -rf "$WORK/seeds" "$OUT/${name}_seed_corpus.zip"
    mkdir "$WORK/seeds"
    while IFS= read -r folder; do
        for seed in "$folder"/*; do
            cp "$seed" "$WORK/seeds/$(basename -- "$folder").$(basename -- "$seed")"
        done
    done < <(seed_folders "${name#fuzz_}")
    (cd "$WORK/seeds" && zip -q -r "$OUT/${name}_seed_corpus.zip" .)
    options=$(printf '[libfuzzer]\nmax_len = 8192\ntimeout = 25\nrss_limit_mb = 2560\n')
    [ ! -e "$driver.dict" ] || options=$(printf '%s\ndict = %s.dict\n' "$options" "$name")
    printf '%s\n' "$options" >"$OUT/$name.options"
done
