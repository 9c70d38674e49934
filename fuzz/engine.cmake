# What every driver is made of, and the engine it is linked to. LIB_FUZZING_ENGINE (a variable or, as OSS-Fuzz gives
# it, from the environment) names it; without one it is clang's libFuzzer, and with another compiler a main that runs
# the files it is given, so that drivers never rot.
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

# All that drivers share is compiled once; a driver of its own is one line that names its target.
add_library(attest_driver OBJECT drivers/driver.cpp)
attest_target(attest_driver)
# Inline functions that several sources share are taken from the first that is linked.
attest_hot_under_fuzzers(attest_driver OPTIMISED)
target_link_libraries(attest_driver PUBLIC attest_fuzz_targets)
if(TARGET attest_arena)
    target_link_libraries(attest_driver PRIVATE attest_arena)
endif()

# attest_driver_program(target source): what all drivers share, and the source that says what this one drives.
function(attest_driver_program target source)
    add_executable(${target} ${source} $<TARGET_OBJECTS:attest_driver>)
    attest_target(${target})
    attest_hot_under_fuzzers(${target})
    target_link_libraries(${target} PRIVATE attest_fuzz_targets ${CMAKE_DL_LIBS} ${fuzzing_engine})
    if(TARGET attest_arena)
        target_link_libraries(${target} PRIVATE attest_arena)
    endif()
    # A module with a planted bug is instrumented as well, and finds the engine's symbols here.
    set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
endfunction()
