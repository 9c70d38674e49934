# The library's private numerics against MPFR.
function(attest_numerics_test name)
    attest_unit_test(
        ${name}
        OPTIMISED
        LABEL ${ARGN}
        SOURCES ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${name}.cpp
        LIBS attest::attest mpfr gmp)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/lib/src)
endfunction()

attest_numerics_test(numerics_exponential_test unit machine)
attest_numerics_test(numerics_rotation_test unit machine)
attest_numerics_test(numerics_every_float_test long)
attest_numerics_test(numerics_every_position_test long)
