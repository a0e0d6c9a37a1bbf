# cmake -DSOURCE_DIR= -DBINARY_DIR= -DPREFIX= -DCXX= -DCXX_FLAGS= -DGENERATOR= -DBUILD_TYPE=
# [-DWANTED_VERSION=] -P build_project.cmake: builds a project against the installed copy, from
# nothing.
file(REMOVE_RECURSE "${BINARY_DIR}" "${BINARY_DIR} 99")
set(configure ${CMAKE_COMMAND} -S "${SOURCE_DIR}" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${PREFIX}"
              "-DCMAKE_CXX_COMPILER=${CXX}")
execute_process(COMMAND ${configure} -B "${BINARY_DIR}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
  "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
                        "-DWANTED_VERSION=${WANTED_VERSION}"
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build "${BINARY_DIR}" COMMAND_ERROR_IS_FATAL ANY)

if(NOT WANTED_VERSION)
  return()
endif()
# A version that does not exist must be refused; otherwise the version file has no effect.
execute_process(COMMAND ${configure} -B "${BINARY_DIR} 99" -DWANTED_VERSION=99.0
                RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
if(code EQUAL 0)
  message(FATAL_ERROR "find_package(broadloom 99.0) was accepted")
endif()
