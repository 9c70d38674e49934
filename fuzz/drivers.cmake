# The drivers. LIB_FUZZING_ENGINE (a variable or, as OSS-Fuzz gives it, from the environment) names the engine
# to link; without one it is clang's libFuzzer, and with another compiler a main that runs the files it is
# given, so that drivers never rot.
if(NOT LIB_FUZZING_ENGINE AND DEFINED ENV{LIB_FUZZING_ENGINE})
    set(LIB_FUZZING_ENGINE $ENV{LIB_FUZZING_ENGINE})
endif()
separate_arguments(fuzzing_engine UNIX_COMMAND "${LIB_FUZZING_ENGINE}")
if(NOT fuzzing_engine)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        set(fuzzing_engine -fsanitize=fuzzer)
        if(CMAKE_CXX_FLAGS MATCHES "-stdlib=libc\\+\\+")
            # Debian's libFuzzer runtime was built against libstdc++, and clang rewrites -lstdc++.
            list(APPEND fuzzing_engine -l:libstdc++.so.6)
        endif()
    else()
        add_library(run_files STATIC drivers/run_files.cpp)
        attest_target(run_files)
        set(fuzzing_engine run_files)
    endif()
endif()

# attest_fuzzer(name DICTIONARY file SOURCES file... DEFINE definition...): one driver, its dictionary beside it.
function(attest_fuzzer name)
    cmake_parse_arguments(arg "" "DICTIONARY" "SOURCES;DEFINE" ${ARGN})
    add_executable(fuzz_${name} ${arg_SOURCES})
    attest_target(fuzz_${name})
    target_compile_definitions(fuzz_${name} PRIVATE ${arg_DEFINE})
    target_link_libraries(fuzz_${name} PRIVATE attest_fuzzing attest_subject ${fuzzing_engine})
    if(arg_DICTIONARY)
        configure_file(${arg_DICTIONARY} ${CMAKE_BINARY_DIR}/bin/fuzz_${name}.dict COPYONLY)
    endif()
    add_dependencies(fuzzers fuzz_${name})
endfunction()

add_custom_target(fuzzers)
foreach(law IN LISTS laws)
    attest_fuzzer(${law} SOURCES drivers/law.cpp DEFINE ATTEST_FUZZ_LAW=${law})
endforeach()
attest_fuzzer(
    case_bytes
    SOURCES drivers/bytes.cpp drivers/case_bytes_mutator.cpp
    DEFINE ATTEST_FUZZ_BYTES=case_bytes
    DICTIONARY case.dict)
attest_fuzzer(
    safetensors_bytes
    SOURCES drivers/bytes.cpp drivers/safetensors_bytes_mutator.cpp
    DEFINE ATTEST_FUZZ_BYTES=safetensors_bytes
    DICTIONARY safetensors.dict)
