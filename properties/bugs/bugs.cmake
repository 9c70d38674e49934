# The bug bank. Each patch is a fault that was met in public, again and again, planted into lib; its header says:
#   # class: B04        the class of fault
#   # slip: a sentence
#   # law: the law that must refuse it
#
# scripts/kill plants all of them. Here a few become modules that the tests of every build need. Only files that a
# patch touches are compiled again, and they stand before the library itself when the module is linked, so that
# their originals are never taken from it. A patch that touches a header compiles all of them.

get_target_property(attest_lib_files attest SOURCES)
list(FILTER attest_lib_files INCLUDE REGEX "\\.cpp$")
set(attest_lib_dir ${PROJECT_SOURCE_DIR}/lib)

function(attest_planted_object name)
    cmake_parse_arguments(arg "" "" "SOURCES;INCLUDES;OPTIONS" ${ARGN})
    add_library(${name} OBJECT ${arg_SOURCES})
    attest_target(${name})
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON)
    target_include_directories(${name} PRIVATE ${arg_INCLUDES})
    target_compile_options(${name} PRIVATE ${arg_OPTIONS})
    # What the library itself is compiled with: which kernels it has, for one.
    target_compile_definitions(${name} PRIVATE $<TARGET_PROPERTY:attest,COMPILE_DEFINITIONS>)
endfunction()

# Options and definitions that single files of the library need, such as exceptions.
function(attest_copy_file_options from to)
    foreach(property IN ITEMS COMPILE_OPTIONS COMPILE_DEFINITIONS)
        get_source_file_property(value ${attest_lib_dir}/${from} DIRECTORY ${attest_lib_dir} ${property})
        if(value)
            set_source_files_properties(${to} PROPERTIES ${property} "${value}")
        endif()
    endforeach()
endfunction()

# The options are seen where a source is compiled, which is here.
set(attest_lib_options -fno-exceptions)
attest_planted_object(attest_planted_module SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/bugs/module.cpp INCLUDES
                      ${CMAKE_CURRENT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/reference/include)
list(TRANSFORM attest_subject_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE subject_files)

# attest_planted_bug(name): bugs/<name>.patch, refused by the law its header names.
function(attest_planted_bug name)
    set(patch ${CMAKE_CURRENT_SOURCE_DIR}/bugs/${name}.patch)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${patch})
    file(STRINGS ${patch} header REGEX "^# (class|slip|law): ")
    file(STRINGS ${patch} targets REGEX "^\\+\\+\\+ b/lib/")
    foreach(key IN ITEMS class slip law)
        if(NOT header MATCHES "# ${key}: ")
            message(FATAL_ERROR "${patch}: its header has no '# ${key}:'")
        endif()
    endforeach()
    string(REGEX MATCH "# law: ([a-z_]+)" ignored "${header}")
    set(law ${CMAKE_MATCH_1})
    if(NOT law IN_LIST attest_law_names)
        message(FATAL_ERROR "${patch}: no such law: ${law}")
    endif()

    set(scratch ${CMAKE_CURRENT_BINARY_DIR}/bugs/${name})
    set(touched "")
    set(touches_header FALSE)
    foreach(target IN LISTS targets)
        string(REGEX REPLACE "^\\+\\+\\+ b/([^\t ]+).*" "\\1" file "${target}")
        list(APPEND touched ${file})
        if(NOT file MATCHES "\\.cpp$")
            set(touches_header TRUE)
        endif()
    endforeach()
    if(NOT touched)
        message(FATAL_ERROR "${patch} touches no file of lib")
    endif()

    set(compiled "")
    foreach(file IN LISTS attest_lib_files)
        if(touches_header OR "lib/${file}" IN_LIST touched)
            list(APPEND compiled ${scratch}/lib/${file})
            attest_copy_file_options(${file} ${scratch}/lib/${file})
        endif()
    endforeach()
    list(TRANSFORM attest_lib_files PREPEND ${attest_lib_dir}/ OUTPUT_VARIABLE originals)
    file(GLOB headers ${attest_lib_dir}/src/*.hpp ${attest_lib_dir}/include/attest/*.hpp)
    string(REPLACE ";" "\\;" touched_argument "${touched}")
    add_custom_command(
        OUTPUT ${compiled} ${scratch}/applied
        COMMAND ${CMAKE_COMMAND} "-DPATCH=${patch}" "-DLIB=${attest_lib_dir}" "-DSCRATCH=${scratch}"
                "-DFILES=${touched_argument}" "-DSTAMP=${scratch}/applied" -P
                ${CMAKE_CURRENT_SOURCE_DIR}/bugs/apply.cmake
        DEPENDS ${patch} ${originals} ${headers} ${CMAKE_CURRENT_SOURCE_DIR}/bugs/apply.cmake
        COMMENT "Planting ${name}"
        VERBATIM)

    # A patched header is seen before the library's own.
    attest_planted_object(
        planted_${name}_objects
        SOURCES ${compiled}
        INCLUDES ${scratch}/lib/include ${scratch}/lib/src
        OPTIONS ${attest_lib_options})
    set(subject "")
    if(touches_header)
        set(subject $<TARGET_OBJECTS:planted_${name}_subject>)
        attest_planted_object(
            planted_${name}_subject
            SOURCES ${subject_files}
            INCLUDES ${scratch}/lib/include ${CMAKE_CURRENT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/src
                     ${PROJECT_SOURCE_DIR}/reference/include)
        add_dependencies(planted_${name}_subject planted_${name}_objects)
    endif()
    add_library(planted_${name} MODULE $<TARGET_OBJECTS:attest_planted_module> $<TARGET_OBJECTS:planted_${name}_objects>
                                       ${subject})
    set_target_properties(
        planted_${name}
        PROPERTIES PREFIX ""
                   OUTPUT_NAME ${name}
                   SUFFIX ".so"
                   LINKER_LANGUAGE CXX
                   LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/bugs)
    # Whatever else the process has loaded, a module calls its own library, and shows its one symbol.
    target_link_options(planted_${name} PRIVATE -Wl,-Bsymbolic -Wl,--exclude-libs,ALL)
    target_link_libraries(planted_${name} PRIVATE attest_subject attest)
    if(NOT ATTEST_BUILD_TESTS)
        # For fuzzers, which are only now and then held against them.
        set_target_properties(planted_${name} planted_${name}_objects PROPERTIES EXCLUDE_FROM_ALL ON)
        return()
    endif()

    attest_test(
        NAME planted_${name}
        LABEL property
        COMMAND attest-properties --planted $<TARGET_FILE:planted_${name}> --law ${law} --must-refuse --seed 1 --cases
                200 --findings ${CMAKE_CURRENT_BINARY_DIR}/bugs/findings)
endfunction()

foreach(name IN ITEMS revision_not_checked length_before_values offset_off_by_one)
    attest_planted_bug(${name})
endforeach()
