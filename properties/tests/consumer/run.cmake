# cmake -D MODE=installed|embedded -D SOURCE=tree -D BUILD=build tree -D SCRATCH=folder -D VERSION=x.y.z
#       -D COMPILER=... -D FLAGS=... -D LAUNCHER=... -P run.cmake
# Installs the built tree into a fresh prefix, or points at the sources, and builds and runs the consumer.
cmake_minimum_required(VERSION 3.25)

function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT status EQUAL 0)
        message("${output}")
        message(FATAL_ERROR "exit ${status}: ${ARGN}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
set(consumer "${CMAKE_CURRENT_LIST_DIR}")
set(configure
    "${CMAKE_COMMAND}" -G Ninja -S "${consumer}" -B "${SCRATCH}/build" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" -DCMAKE_BUILD_TYPE=Release)

if(MODE STREQUAL "installed")
    run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${SCRATCH}/prefix")
    # The package is the library alone: whatever else lands there was not meant for users.
    file(GLOB_RECURSE installed RELATIVE "${SCRATCH}/prefix" "${SCRATCH}/prefix/*")
    foreach(file IN LISTS installed)
        if(NOT file MATCHES "^(include/attest/[a-z_0-9]+\\.hpp|lib[^/]*/(.*/)?libattest\\.(a|so.*)|lib[^/]*/(.*/)?cmake/attest/[A-Za-z-]+\\.cmake)$")
            message(FATAL_ERROR "installed, but no part of the package: ${file}")
        endif()
    endforeach()
    # Built where neither the tree nor a test dependency can be found by accident.
    run(${configure} "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix" "-DATTEST_WANTED_VERSION=${VERSION}")
    # A version that we are not must not be found.
    execute_process(COMMAND ${configure} "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix" -DATTEST_WANTED_VERSION=999.0
                            --fresh RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
        message(FATAL_ERROR "version 999.0 was found")
    endif()
    run(${configure} --fresh "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix" "-DATTEST_WANTED_VERSION=${VERSION}")
elseif(MODE STREQUAL "embedded")
    run(${configure} "-DATTEST_SOURCE=${SOURCE}")
else()
    message(FATAL_ERROR "MODE is ${MODE}")
endif()

run("${CMAKE_COMMAND}" --build "${SCRATCH}/build" --parallel 1)
run("${SCRATCH}/build/consumer")
if(NOT output MATCHES "cached rows have the bits of the full prefix")
    message(FATAL_ERROR "the consumer said: ${output}")
endif()
message(STATUS "${MODE}: ${output}")
