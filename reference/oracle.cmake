# The oracle, its bound, the comparator and the bank. MPFR and GMP come from Debian without CMake packages.
find_package(Boost 1.81 REQUIRED)

add_library(
    attest_reference STATIC
    src/arithmetic.cpp
    src/compare.cpp
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

if(ATTEST_BUILD_TESTS)
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
endif()
