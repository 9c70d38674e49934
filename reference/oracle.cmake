# The oracle, its bound, the comparator and the bank. MPFR and GMP come from Debian without CMake packages.
find_package(Boost 1.81 REQUIRED)

add_library(
    attest_reference STATIC
    src/arithmetic.cpp
    src/bank.cpp
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

# From a dump to a verdict.
add_library(attest_verdict STATIC src/verdict/metadata.cpp src/verdict/task.cpp src/verdict/verdict.cpp)
attest_target(attest_verdict)
target_include_directories(
    attest_verdict
    PUBLIC include
    PRIVATE src)
target_link_libraries(attest_verdict PUBLIC attest_reference attest_dump)

if(ATTEST_BUILD_TESTS)
    find_package(fmt REQUIRED)
    find_package(CLI11 REQUIRED)
    find_package(nlohmann_json REQUIRED)
    add_executable(attest-reference tools/attest_reference.cpp tools/report.cpp)
    attest_target(attest-reference)
    target_link_libraries(attest-reference PRIVATE attest_verdict CLI11::CLI11 fmt::fmt-header-only
                                                   nlohmann_json::nlohmann_json)

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
