# cmake -DBUILD_DIR= -DPREFIX= -P install.cmake: installs anew, and looks for what is not to be there.
file(REMOVE_RECURSE "${PREFIX}")
execute_process(COMMAND ${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${PREFIX}" OUTPUT_QUIET
                COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE kernels "${PREFIX}/*-inl.h")
if(kernels)
  message(FATAL_ERROR "installed, but not for consumers: ${kernels}")
endif()
if(NOT EXISTS "${PREFIX}/include/broadloom/program.h")
  message(FATAL_ERROR "not installed: broadloom/program.h")
endif()
