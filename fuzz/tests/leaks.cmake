# A driver like any other, but for what it drives: its inputs leak. It is no fuzzer of this tree and none of `fuzzers`.
attest_driver_program(leaking_driver tests/leaking.cpp)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Fuzzing wants edges, in builds that count none as well.
    target_compile_options(leaking_driver PRIVATE -fsanitize=fuzzer-no-link)
endif()
attest_test(NAME leak_test LABEL tool COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/leak_test
            $<TARGET_FILE:leaking_driver>)
