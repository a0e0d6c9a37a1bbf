# Toolchain for 64-bit ARM on Debian: package g++-aarch64-linux-gnu, and the libraries unpacked
# under BROADLOOM_SYSROOT (tools/golden_elsewhere.sh does that).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BROADLOOM_SYSROOT)
set(CMAKE_FIND_ROOT_PATH ${BROADLOOM_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(what LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${what} ONLY)
endforeach()
# Random123 and xxHash are headers alone, which nothing looks for.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${BROADLOOM_SYSROOT}/usr/include")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${BROADLOOM_SYSROOT}/usr/lib/aarch64-linux-gnu")
