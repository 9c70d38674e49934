# Planted bugs: each patch becomes a module with a subject of its own. The header of a patch says what it is:
#   # class: B04        the row of the bug bank
#   # slip: a sentence
#   # law: the law that must refuse it
#
# Only files that a patch touches are compiled again; a patch that touches a header compiles all of them.

find_package(Threads REQUIRED)
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

set(sound_sources "")
foreach(file IN LISTS attest_lib_files)
    list(APPEND sound_sources ${attest_lib_dir}/${file})
    attest_copy_file_options(${file} ${attest_lib_dir}/${file})
endforeach()
set(attest_lib_options -fno-exceptions)
attest_planted_object(attest_sound_objects SOURCES ${sound_sources} INCLUDES ${attest_lib_dir}/include OPTIONS
                      ${attest_lib_options})

# The subject and the little of the case format that it uses.
list(TRANSFORM attest_subject_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE subject_files)
set(subject_includes ${CMAKE_CURRENT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/src
                     ${PROJECT_SOURCE_DIR}/reference/include)
set(subject_files ${subject_files} ${CMAKE_CURRENT_SOURCE_DIR}/bugs/module.cpp
                  ${PROJECT_SOURCE_DIR}/reference/src/case/number.cpp)
attest_planted_object(attest_sound_subject SOURCES ${subject_files} INCLUDES ${subject_includes}
                      ${attest_lib_dir}/include)

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

    # Which files are compiled from the scratch copy, and which objects are replaced.
    set(compiled "")
    set(replaced "")
    foreach(file IN LISTS attest_lib_files)
        if(touches_header OR "lib/${file}" IN_LIST touched)
            list(APPEND compiled ${scratch}/lib/${file})
            get_filename_component(leaf ${file} NAME)
            string(REPLACE "." "\\." leaf "${leaf}")
            list(APPEND replaced "/${leaf}\\.o$")
            attest_copy_file_options(${file} ${scratch}/lib/${file})
        endif()
    endforeach()
    list(JOIN replaced "|" replaced)
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
    set(subject attest_sound_subject)
    if(touches_header)
        set(subject planted_${name}_subject)
        attest_planted_object(${subject} SOURCES ${subject_files} INCLUDES ${scratch}/lib/include ${subject_includes})
        add_dependencies(${subject} planted_${name}_objects)
    endif()
    add_library(
        planted_${name} MODULE
        $<TARGET_OBJECTS:planted_${name}_objects>
        $<FILTER:$<TARGET_OBJECTS:attest_sound_objects>,EXCLUDE,${replaced}>
        $<TARGET_OBJECTS:${subject}>)
    set_target_properties(
        planted_${name}
        PROPERTIES PREFIX ""
                   OUTPUT_NAME ${name}
                   SUFFIX ".so"
                   LINKER_LANGUAGE CXX
                   LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/bugs)
    target_link_options(planted_${name} PRIVATE -Wl,-Bsymbolic)
    target_link_libraries(planted_${name} PRIVATE Threads::Threads)

    attest_test(
        NAME planted_${name}
        LABEL property
        COMMAND attest-properties --planted $<TARGET_FILE:planted_${name}> --law ${law} --must-refuse --seed 1 --cases
                200 --findings ${CMAKE_CURRENT_BINARY_DIR}/bugs/findings)
    set_property(GLOBAL APPEND PROPERTY attest_planted_modules planted_${name})
endfunction()

file(GLOB patches CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/bugs ${CMAKE_CURRENT_SOURCE_DIR}/bugs/*.patch)
foreach(patch IN LISTS patches)
    string(REGEX REPLACE "\\.patch$" "" name ${patch})
    attest_planted_bug(${name})
endforeach()
