# One property test and one corpus replay a law, and unit tests of what laws stand on.
set(attest_findings ${CMAKE_BINARY_DIR}/findings)
foreach(law IN LISTS attest_law_names)
    attest_test(NAME law_${law} LABEL property COMMAND attest-properties --law ${law} --fallback-seed 20260101 --findings
                ${attest_findings})
    if(EXISTS "${PROJECT_SOURCE_DIR}/corpus/${law}")
        attest_test(NAME corpus_${law} LABEL replay COMMAND attest-properties --replay
                    ${PROJECT_SOURCE_DIR}/corpus/${law})
    endif()
endforeach()

# No false alarm in tens of millions of cases. It takes hours.
attest_test(NAME no_false_alarm_in_millions LABEL long property TIMEOUT 86400 COMMAND attest-properties --soak --jobs 2
            --fallback-seed 20260101 --findings ${attest_findings})

# Every sequence of steps on a tiny layer; the longer ones are millions.
attest_test(NAME every_history_of_four_steps LABEL property COMMAND attest-properties exhaust --steps 4 --findings
            ${attest_findings})
add_test(NAME every_history_of_three_steps_shows_a_planted_bug
         COMMAND attest-properties exhaust --steps 3 --planted $<TARGET_FILE:planted_revision_not_checked>
                 --findings ${attest_findings})
set_tests_properties(every_history_of_three_steps_shows_a_planted_bug
                     PROPERTIES LABELS property PASS_REGULAR_EXPRESSION "any_history_is_its_rows is broken")
attest_test(NAME every_history_of_six_steps LABEL long property COMMAND attest-properties exhaust --steps 6 --jobs 2
            --findings ${attest_findings})

attest_test(NAME export_round_trip LABEL tool COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/export_test
            $<TARGET_FILE:attest-properties> $<TARGET_FILE:attest-reference>
            ${CMAKE_CURRENT_SOURCE_DIR}/examples/fill_in.py)

# Fakes and small subjects for the tests live beside them.
attest_unit_test(law_verdict_test LABEL unit SOURCES tests/verdict_test.cpp LIBS attest_laws)
attest_unit_test(draw_test LABEL unit SOURCES tests/draw_test.cpp LIBS attest_laws)
attest_unit_test(predict_test LABEL unit SOURCES tests/predict_test.cpp LIBS attest_laws)
attest_unit_test(play_test LABEL unit SOURCES tests/play_test.cpp LIBS attest_laws attest_subject)
attest_unit_test(subject_test LABEL unit SOURCES tests/subject_test.cpp LIBS attest_subject)
attest_unit_test(run_test LABEL unit SOURCES tests/run_test.cpp tests/foreign_test.cpp LIBS attest_run attest_subject)
attest_unit_test(dump_check_test LABEL unit SOURCES tests/dump_check_test.cpp LIBS attest_run attest_subject)
attest_unit_test(sessions_in_threads_test LABEL threads unit SOURCES tests/sessions_in_threads_test.cpp LIBS
                 attest_subject)

# A patch that does not fit must end the build.
add_test(
    NAME a_patch_that_does_not_apply_is_an_error
    COMMAND
        ${CMAKE_COMMAND} -DPATCH=${CMAKE_CURRENT_SOURCE_DIR}/tests/does_not_apply.diff -DLIB=${PROJECT_SOURCE_DIR}/lib
        -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/does_not_apply -DFILES=lib/src/cache.cpp
        -DSTAMP=${CMAKE_CURRENT_BINARY_DIR}/does_not_apply/applied -P ${CMAKE_CURRENT_SOURCE_DIR}/bugs/apply.cmake)
set_tests_properties(
    a_patch_that_does_not_apply_is_an_error
    PROPERTIES LABELS unit PASS_REGULAR_EXPRESSION "does not apply")

# A key that RapidCheck would ignore is refused.
add_test(NAME an_unknown_rc_params_key_is_refused COMMAND attest-properties --law comparator_flags_nan)
set_tests_properties(
    an_unknown_rc_params_key_is_refused
    PROPERTIES LABELS unit ENVIRONMENT "RC_PARAMS=max_sucess=3" PASS_REGULAR_EXPRESSION "unknown key in RC_PARAMS: max_sucess")

# Nor is a verdict right that nobody can read.
attest_test(NAME a_lost_verdict_is_refused LABEL unit COMMAND sh -c
            "\"$1\" --list >/dev/full && exit 1 || [ $? -eq 2 ]" sh $<TARGET_FILE:attest-properties>)

# The bits that were decided, with the kernels of every instruction set this build has.
set(attest_cases_a_target 100)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
    set(attest_cases_a_target 20)
endif()
set(attest_simd_targets off)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND attest_simd_targets loops)
    if(ATTEST_HIGHWAY)
        list(APPEND attest_simd_targets avx2 avx512)
    endif()
elseif(ATTEST_HIGHWAY)
    list(APPEND attest_simd_targets neon)
endif()
foreach(simd IN LISTS attest_simd_targets)
    # A script does not know that CMake would run the program in an emulator, which takes a minute for it: there the
    # portable kernels wait for a longer run.
    set(label replay)
    if(NOT simd STREQUAL "off" OR NOT CMAKE_CROSSCOMPILING)
        list(APPEND label machine)
    endif()
    set(with_kernels ${CMAKE_CURRENT_SOURCE_DIR}/tests/with_kernels ${simd})
    attest_test(NAME ledger_${simd} LABEL ${label} COMMAND ${with_kernels} ${CMAKE_CURRENT_SOURCE_DIR}/tests/ledger_test
                ${CMAKE_CURRENT_SOURCE_DIR}/ledger.txt ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:attest-ledger>)
    # Every law, over its corpus and a few cases: with the kernels that a layer gets by itself they meet many more.
    attest_test(NAME laws_with_${simd} LABEL property COMMAND ${with_kernels} ${CMAKE_CROSSCOMPILING_EMULATOR}
                $<TARGET_FILE:attest-properties> --cases ${attest_cases_a_target} --fallback-seed 20260101 --findings
                ${attest_findings})
endforeach()
add_dependencies(machine_tests attest-ledger)
