# The oracle, its bound, the comparator and the bank. MPFR and GMP come from Debian without CMake packages.
find_package(Boost 1.81 REQUIRED)
find_package(Threads REQUIRED)

add_library(
    attest_reference STATIC
    src/arithmetic.cpp
    src/bank.cpp
    src/bank/scene.cpp
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
    src/judge/row_judge.cpp
    src/judge/self_check.cpp
    src/oracle/fixed.cpp
    src/oracle/oracle.cpp
    src/oracle/product.cpp
    src/oracle/visibility.cpp
    src/rules/plain.cpp
    src/rules/rules.cpp
    src/rules/tolerance.cpp)
add_library(attest::reference ALIAS attest_reference)
attest_target(attest_reference)
attest_hot_under_fuzzers(attest_reference)
attest_in_batches(attest_reference)
# A planted oracle stands in for this one, so nobody else may have its code inlined.
set_source_files_properties(src/oracle/oracle.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_include_directories(
    attest_reference
    PUBLIC include
    PRIVATE src)
target_link_libraries(attest_reference PUBLIC Boost::headers mpfr gmp Threads::Threads)

# From a dump to a verdict.
add_library(
    attest_verdict STATIC
    src/diagnosis/diagnose.cpp
    src/diagnosis/faults.cpp
    src/diagnosis/kernel.cpp
    src/diagnosis/operands.cpp
    src/diagnosis/pattern.cpp
    src/rules/table.cpp
    src/verdict/metadata.cpp
    src/verdict/task.cpp
    src/verdict/verdict.cpp)
attest_target(attest_verdict)
attest_in_batches(attest_verdict)
target_include_directories(
    attest_verdict
    PUBLIC include
    PRIVATE src)
target_link_libraries(attest_verdict PUBLIC attest_reference attest_dump)

if(ATTEST_BUILD_TESTS)
    find_package(CLI11 REQUIRED)
    find_package(nlohmann_json REQUIRED)
    find_package(pugixml REQUIRED)
    attest_command_line(tools/attest_reference.cpp tests/refusals/main.cpp)
    add_library(
        attest_reference_tool OBJECT
        tools/attest_reference.cpp
        tools/check.cpp
        tools/json.cpp
        tools/junit.cpp
        tools/progress.cpp
        tools/report.cpp
        tools/rules.cpp)
    attest_target(attest_reference_tool)
    attest_in_batches(attest_reference_tool)
    target_include_directories(attest_reference_tool PRIVATE src)
    target_link_libraries(
        attest_reference_tool PRIVATE attest_verdict attest_npz CLI11::CLI11 attest_fmt
                                      nlohmann_json::nlohmann_json pugixml::pugixml)
    add_executable(attest-reference $<TARGET_OBJECTS:attest_reference_tool>)
    attest_target(attest-reference)
    target_link_libraries(attest-reference PRIVATE attest_verdict attest_npz attest_fmt pugixml::pugixml)

    # The program with an oracle whose second walk weighs the first key wrongly by one part in a million. The
    # object stands in front of the library, which then has nothing to add.
    file(READ src/oracle/oracle.cpp oracle_text)
    set(right_weight "const N weight = exp(row.scores[n] - row.maximum);")
    string(FIND "${oracle_text}" "${right_weight}" right_weight_at)
    if(right_weight_at EQUAL -1)
        message(FATAL_ERROR "src/oracle/oracle.cpp: no place to plant a disagreement at")
    endif()
    string(REPLACE "${right_weight}" "const N weight = exp(row.scores[n] - row.maximum) * (n == 0 ? 1.000001 : 1.0);"
                   oracle_text "${oracle_text}")
    file(CONFIGURE OUTPUT planted/oracle.cpp CONTENT "${oracle_text}" @ONLY)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/oracle/oracle.cpp)
    add_executable(attest-reference-planted $<TARGET_OBJECTS:attest_reference_tool>
                                            "${CMAKE_CURRENT_BINARY_DIR}/planted/oracle.cpp")
    attest_target(attest-reference-planted)
    target_include_directories(attest-reference-planted PRIVATE src)
    target_link_libraries(attest-reference-planted PRIVATE attest_verdict attest_npz attest_fmt pugixml::pugixml)

    # The examples, and what the program says of the dumps they make.
    add_executable(example_dump examples/dump.cpp)
    attest_target(example_dump)
    target_link_libraries(example_dump PRIVATE attest_dump)
    attest_test(
        NAME example_dump_cpp
        LABEL tool
        COMMAND
            "${CMAKE_COMMAND}" -D "MAKE=$<TARGET_FILE:example_dump>" -D "CHECKER=$<TARGET_FILE:attest-reference>" -D
            "SCRATCH=${CMAKE_CURRENT_BINARY_DIR}/examples/cpp" -D
            "CAUSE=frontier off by one: a row sees one key too many" -P "${CMAKE_CURRENT_SOURCE_DIR}/examples/check.cmake")
    # Debian's interpreter, beside which Debian's numpy lies.
    find_program(ATTEST_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
    attest_test(
        NAME example_dump_py
        LABEL tool
        COMMAND
            "${CMAKE_COMMAND}" -D "MAKE=${ATTEST_PYTHON}|${CMAKE_CURRENT_SOURCE_DIR}/examples/dump.py" -D
            "CHECKER=$<TARGET_FILE:attest-reference>" -D "SCRATCH=${CMAKE_CURRENT_BINARY_DIR}/examples/py" -D
            "CAUSE=query heads mapped by h mod Hkv" -P "${CMAKE_CURRENT_SOURCE_DIR}/examples/check.cmake")

    # The bound's attacker: kernels of every kind on a machine that errs as far as it may.
    add_library(
        attest_attack STATIC
        tests/attack/attack.cpp
        tests/attack/kernel.cpp
        tests/attack/machine.cpp
        tests/attack/row.cpp
        tests/attack/setup.cpp
        tests/attack/weaken.cpp)
    attest_target(attest_attack)
    target_include_directories(attest_attack PUBLIC src tests)
    target_link_libraries(attest_attack PUBLIC attest_reference)

    add_executable(attest-attack tests/attack/main.cpp)
    attest_target(attest-attack)
    target_link_libraries(attest-attack PRIVATE attest_attack)

    # What published rules and the bound refuse, on normal decode steps: README.md's table.
    add_executable(attest-refusals tests/refusals/main.cpp tests/refusals/refusals.cpp)
    attest_target(attest-refusals)
    target_include_directories(attest-refusals PRIVATE tests)
    target_link_libraries(attest-refusals PRIVATE attest_verdict CLI11::CLI11 attest_fmt)
    attest_test(NAME refusals LABEL reference COMMAND attest-refusals --lengths 128 --trials 2 --require)
    attest_test(NAME refusals_of_narrow_numbers LABEL reference COMMAND attest-refusals --lengths 128 --trials 2 --require
                                                                        --narrow)
    attest_test(
        NAME refusals_of_the_readme
        LABEL long
        COMMAND attest-refusals --lengths 128,1024,8192 --trials 24 --require --against
                "${PROJECT_SOURCE_DIR}/README.md")
    attest_test(
        NAME narrow_refusals_of_the_readme
        LABEL long
        COMMAND attest-refusals --lengths 128,1024,8192 --trials 4 --require --narrow --against
                "${PROJECT_SOURCE_DIR}/README.md")

    attest_unit_test(
        reference_unit_test
        LABEL unit
        SOURCES tests/reference/compare_test.cpp tests/reference/diagnosis_test.cpp tests/reference/model_test.cpp tests/reference/number_test.cpp tests/reference/progress_test.cpp tools/progress.cpp
                tests/reference/outward_test.cpp tests/reference/rules_test.cpp tests/reference/verdict_test.cpp tests/reference/visibility_test.cpp
        LIBS attest_verdict attest_attack attest_fmt)
    attest_unit_test(
        reference_oracle_test
        LABEL reference
        SOURCES tests/reference/bound_test.cpp tests/reference/reciprocals_test.cpp tests/reference/lengths_test.cpp tests/reference/fixed_test.cpp tests/reference/oracle_test.cpp
        LIBS attest_reference attest_attack)
    attest_test(
        NAME lengths_of_every_head
        LABEL long
        COMMAND reference_oracle_test --gtest_also_run_disabled_tests --gtest_filter=Lengths.DISABLED_OfEveryHead)
    # 10^5 trials run in reference_oracle_test; these are 10^7, and every term of the bound weakened in turn.
    attest_test(NAME attack_at_length LABEL long COMMAND attest-attack all 50000000 10000000)
    attest_test(NAME attack_on_each_term LABEL long COMMAND attest-attack weaken 1 12
                                                            "${PROJECT_SOURCE_DIR}/reference/PROOF.md")
    attest_unit_test(
        reference_vectors_test
        LABEL reference
        SOURCES tests/reference/vectors_test.cpp
        LIBS attest_verdict attest_npz)
    attest_unit_test(
        reference_tool_test
        LABEL tool
        SOURCES tests/reference/tool_test.cpp
        LIBS attest_npz nlohmann_json::nlohmann_json pugixml::pugixml)
    target_compile_definitions(
        reference_tool_test PRIVATE ATTEST_REFERENCE_PROGRAM="$<TARGET_FILE:attest-reference>"
                                    ATTEST_REFERENCE_PLANTED="$<TARGET_FILE:attest-reference-planted>")
    add_dependencies(reference_tool_test attest-reference attest-reference-planted)
    foreach(test reference_unit_test reference_oracle_test reference_vectors_test reference_tool_test)
        target_include_directories(${test} PRIVATE src tests)
        target_compile_definitions(${test} PRIVATE ATTEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    endforeach()
endif()
