# The oracle, its bound, the comparator and the bank. MPFR and GMP come from Debian without CMake packages.
find_package(Boost 1.81 REQUIRED)

add_library(
    attest_reference STATIC
    src/arithmetic.cpp
    src/bank.cpp
    src/compare.cpp
    src/exact.cpp
    src/exact_digits.cpp
    src/error.cpp
    src/number.cpp
    src/bound/model.cpp
    src/bound/row.cpp
    src/bound/stages.cpp
    src/judge/attention.cpp
    src/judge/core.cpp
    src/judge/inputs.cpp
    src/judge/layer.cpp
    src/judge/rotary.cpp
    src/oracle/oracle.cpp
    src/oracle/visibility.cpp)
add_library(attest::reference ALIAS attest_reference)
attest_target(attest_reference)
target_include_directories(
    attest_reference
    PUBLIC include
    PRIVATE src)
target_link_libraries(attest_reference PUBLIC Boost::headers mpfr gmp)

# From a dump to a verdict.
add_library(attest_verdict STATIC src/verdict/metadata.cpp src/verdict/task.cpp src/verdict/verdict.cpp)
attest_target(attest_verdict)
target_include_directories(
    attest_verdict
    PUBLIC include
    PRIVATE src)
target_link_libraries(attest_verdict PUBLIC attest_reference attest_dump)

if(ATTEST_BUILD_TESTS)
    find_package(CLI11 REQUIRED)
    find_package(nlohmann_json REQUIRED)
    attest_command_line(tools/attest_reference.cpp)
    add_executable(attest-reference tools/attest_reference.cpp tools/report.cpp)
    attest_target(attest-reference)
    target_link_libraries(attest-reference PRIVATE attest_verdict attest_npz CLI11::CLI11 attest_fmt
                                                   nlohmann_json::nlohmann_json)

    # The bound's attacker: kernels of every kind on a machine that errs as far as it may.
    add_library(attest_attack STATIC tests/attack/attack.cpp tests/attack/kernel.cpp tests/attack/machine.cpp)
    attest_target(attest_attack)
    target_include_directories(
        attest_attack
        PRIVATE src
        PUBLIC tests)
    target_link_libraries(attest_attack PUBLIC attest_reference)

    add_executable(attest-attack tests/attack/main.cpp)
    attest_target(attest-attack)
    target_link_libraries(attest-attack PRIVATE attest_attack)

    attest_unit_test(
        reference_unit_test
        LABEL unit
        SOURCES tests/reference/compare_test.cpp tests/reference/model_test.cpp tests/reference/number_test.cpp
                tests/reference/outward_test.cpp tests/reference/verdict_test.cpp tests/reference/visibility_test.cpp
        LIBS attest_verdict attest_attack)
    attest_unit_test(
        reference_oracle_test
        LABEL reference
        SOURCES tests/reference/bound_test.cpp tests/reference/oracle_test.cpp
        LIBS attest_reference attest_attack)
    attest_unit_test(
        reference_vectors_test
        LABEL reference
        SOURCES tests/reference/vectors_test.cpp
        LIBS attest_verdict attest_npz)
    attest_unit_test(
        reference_tool_test
        LABEL tool
        SOURCES tests/reference/tool_test.cpp
        LIBS attest_npz nlohmann_json::nlohmann_json)
    target_compile_definitions(reference_tool_test
                               PRIVATE ATTEST_REFERENCE_PROGRAM="$<TARGET_FILE:attest-reference>")
    add_dependencies(reference_tool_test attest-reference)
    foreach(test reference_unit_test reference_oracle_test reference_vectors_test reference_tool_test)
        target_include_directories(${test} PRIVATE src tests)
        target_compile_definitions(${test} PRIVATE ATTEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    endforeach()
endif()
