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

for driver in "$WORK"/attest-build/bin/fuzz_*; do
    name=$(basename -- "$driver")
    cp "$driver" "$OUT/"
    case "$name" in
    *.dict) continue ;;
    fuzz_case_bytes) seeds=("$tree"/corpus/*/*.case) ;;
    *) seeds=("$tree/corpus/${name#fuzz_}"/*) ;;
    esac
    rm -f "$OUT/${name}_seed_corpus.zip"
    zip -q -j "$OUT/${name}_seed_corpus.zip" "${seeds[@]}"
    options=$(printf '[libfuzzer]\nmax_len = 8192\ntimeout = 30\n')
    [ ! -e "$driver.dict" ] || options=$(printf '%s\ndict = %s.dict\n' "$options" "$name")
    printf '%s\n' "$options" >"$OUT/$name.options"
done
