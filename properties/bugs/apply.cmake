# Applies one planted bug to a scratch copy of lib, with patch's own strictness: no fuzz: context must fit exactly. A patch that
# no longer fits the library is an error, so that no bug is ever planted by halves or not at all.
#
#   cmake -DPATCH=bug.patch -DLIB=lib -DSCRATCH=dir -DFILES=lib/src/a.cpp;... -DSTAMP=file -P apply.cmake
find_program(PATCH_PROGRAM patch REQUIRED)
file(REMOVE_RECURSE "${SCRATCH}/lib")
file(MAKE_DIRECTORY "${SCRATCH}/lib")
file(COPY "${LIB}/include" "${LIB}/src" DESTINATION "${SCRATCH}/lib")
execute_process(
    COMMAND "${PATCH_PROGRAM}" -p1 --fuzz=0 --batch --forward --no-backup-if-mismatch --directory "${SCRATCH}"
            --input "${PATCH}"
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
if(NOT result EQUAL 0 OR output MATCHES "fuzz|FAILED|Reversed")
    message(FATAL_ERROR "${PATCH} does not apply to the library as it is:\n${output}")
endif()
foreach(file IN LISTS FILES)
    file(READ "${SCRATCH}/${file}" planted)
    string(REGEX REPLACE "^lib" "${LIB}" original_path "${file}")
    file(READ "${original_path}" original)
    if(planted STREQUAL original)
        message(FATAL_ERROR "${PATCH} changes nothing in ${file}")
    endif()
endforeach()
file(TOUCH "${STAMP}")
