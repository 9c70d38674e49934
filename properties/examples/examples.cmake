# Foreign subjects: a kernel in plain C, and PyTorch where it is installed.
enable_language(C)

# attest_subject_example(name FILE file DEFINE definition...): bin/examples/<name>.so
function(attest_subject_example name)
    cmake_parse_arguments(arg "" "FILE" "DEFINE" ${ARGN})
    add_library(${name} MODULE ${arg_FILE})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/properties/include)
    target_compile_options(${name} PRIVATE -ffp-contract=off -Wall -Wextra)
    target_compile_definitions(${name} PRIVATE ${arg_DEFINE})
    target_link_libraries(${name} PRIVATE m)
    set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so" C_STANDARD 11 C_VISIBILITY_PRESET default
                                             LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/examples)
endfunction()

attest_subject_example(plain_loops FILE examples/plain_loops.c)
# The same kernel over a wrong math library, for the test that such a subject is refused.
attest_subject_example(plain_loops_wrong FILE examples/plain_loops.c DEFINE sqrt=cbrt)
# The same kernel, and its answer is one element too long.
set(plain_loops ${CMAKE_CURRENT_SOURCE_DIR}/examples/plain_loops.c)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${plain_loops})
file(READ ${plain_loops} text)
string(REPLACE "i < batch * rows * width && right; ++i) put(layer->spec.type, y, i, out[i]);"
               "i <= batch * rows * width && right; ++i) put(layer->spec.type, y, i, out[i ? i - 1 : 0]);"
               beyond "${text}")
if(beyond STREQUAL text)
    message(FATAL_ERROR "the loop over y is no longer in ${plain_loops}")
endif()
file(CONFIGURE OUTPUT plain_loops_beyond.c CONTENT "${beyond}" @ONLY)
attest_subject_example(plain_loops_beyond FILE ${CMAKE_CURRENT_BINARY_DIR}/plain_loops_beyond.c)
attest_test(NAME subject_in_c LABEL property COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/subject_in_c_test
            $<TARGET_FILE:attest-properties> $<TARGET_FILE:plain_loops> $<TARGET_FILE:plain_loops_wrong>
            $<TARGET_FILE:plain_loops_beyond>)

# PyTorch, where libtorch-dev is installed (scripts/setup does not install it: its headers take a minute).
find_path(ATTEST_TORCH_INCLUDE torch/csrc/api/include/torch/torch.h)
find_library(ATTEST_TORCH_LIBRARY torch)
if(ATTEST_TORCH_INCLUDE AND ATTEST_TORCH_LIBRARY)
    add_library(torch_attention MODULE examples/torch_attention.cpp)
    target_compile_features(torch_attention PRIVATE cxx_std_17)
    target_include_directories(torch_attention PRIVATE ${PROJECT_SOURCE_DIR}/properties/include)
    target_include_directories(torch_attention SYSTEM PRIVATE ${ATTEST_TORCH_INCLUDE}
                                                              ${ATTEST_TORCH_INCLUDE}/torch/csrc/api/include)
    get_filename_component(torch_folder ${ATTEST_TORCH_LIBRARY} DIRECTORY)
    target_link_libraries(torch_attention PRIVATE ${ATTEST_TORCH_LIBRARY} ${torch_folder}/libtorch_cpu.so
                                                  ${torch_folder}/libc10.so)
    set_target_properties(torch_attention PROPERTIES PREFIX "" SUFFIX ".so" CXX_VISIBILITY_PRESET hidden
                                                     LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/examples)
    attest_test(NAME subject_in_pytorch LABEL property COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/subject_in_pytorch_test
                $<TARGET_FILE:attest-properties> $<TARGET_FILE:torch_attention>)
else()
    message(STATUS "PyTorch is not installed (libtorch-dev): its subject is not built")
    attest_test(NAME subject_in_pytorch LABEL property COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/subject_in_pytorch_test)
endif()
