# The spaces are there on purpose: paths with spaces have to work.
set(prefix "${WORK_DIR}/an installed copy")
set(build "${WORK_DIR}/consumer build")
file(REMOVE_RECURSE "${prefix}" "${build}")

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what} failed (${code}):\n${out}\n${err}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

run("install" ${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${prefix}")
file(GLOB_RECURSE kernels "${prefix}/*-inl.h")
if(kernels)
  message(FATAL_ERROR "installed, but not for consumers: ${kernels}")
endif()
run("configuring the consumer" ${CMAKE_COMMAND} -S "${SOURCE_DIR}" -B "${build}" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
    "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DWANTED_VERSION=${VERSION}")
run("building the consumer" ${CMAKE_COMMAND} --build "${build}")
run("running the consumer" "${build}/consumer")
message(STATUS "the consumer said: ${out}")

# A version that does not exist must be refused: otherwise the version file says nothing.
execute_process(COMMAND ${CMAKE_COMMAND} -S "${SOURCE_DIR}" -B "${build} 99" -G "${GENERATOR}"
                "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX}" -DWANTED_VERSION=99.0
                RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
if(code EQUAL 0)
  message(FATAL_ERROR "find_package(broadloom 99.0) was accepted")
endif()
