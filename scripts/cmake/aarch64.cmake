# Builds for 64-bit Arm on another machine: Debian's cross compiler and its C library, other libraries from where
# `scripts/setup --aarch64` unpacks them, and qemu's user mode to run what was built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(attest_packages "${CMAKE_CURRENT_LIST_DIR}/../../build/aarch64-packages" ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH "${attest_packages}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# What has no CMake package of its own is looked for by the compiler, the linker and the loader.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES "${attest_packages}/usr/include"
                                           "${attest_packages}/usr/include/aarch64-linux-gnu")
foreach(kind IN ITEMS EXE SHARED MODULE)
    # Those that a library loads in its turn are found only by the older of the two tags.
    set(CMAKE_${kind}_LINKER_FLAGS_INIT "-Wl,--disable-new-dtags")
    foreach(folder IN ITEMS usr/lib lib)
        string(APPEND CMAKE_${kind}_LINKER_FLAGS_INIT " -L${attest_packages}/${folder}/aarch64-linux-gnu"
               " -Wl,-rpath,${attest_packages}/${folder}/aarch64-linux-gnu")
    endforeach()
endforeach()

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
