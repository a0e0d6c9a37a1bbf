# cmake -DBUILD_DIR= -DPREFIX= -DSOURCE_DIR= -DCXX= -P install.cmake: installs anew, and checks with
# the compiler that exactly the public headers and their includes are there.
cmake_policy(VERSION 3.25)
include("${SOURCE_DIR}/cmake/BroadloomHeaders.cmake")
file(REMOVE_RECURSE "${PREFIX}")
execute_process(COMMAND ${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${PREFIX}" OUTPUT_QUIET
                COMMAND_ERROR_IS_FATAL ANY)

broadloom_public_headers("${SOURCE_DIR}" headers)
list(TRANSFORM headers REPLACE "(.+)" "#include \"\\1\"" OUTPUT_VARIABLE includes)
list(JOIN includes "\n" text)
set(probe "${PREFIX}/public_headers.cc")
file(WRITE "${probe}" "${text}\n")
execute_process(COMMAND ${CXX} -std=c++20 -MM -MT all "-I${PREFIX}/include" "${probe}"
                OUTPUT_VARIABLE reached COMMAND_ERROR_IS_FATAL ANY)
# In make's format: `all:`, paths with escaped blanks, and continued lines.
string(REGEX REPLACE "\\\\\n" " " reached "${reached}")
string(REPLACE "\\ " "\t" reached "${reached}")
string(REGEX MATCHALL "[^ \n]+" reached "${reached}")
list(TRANSFORM reached REPLACE "\t" " ")

file(GLOB_RECURSE installed "${PREFIX}/include/*")
set(extra ${installed})
list(REMOVE_ITEM extra ${reached})
if(extra)
  message(FATAL_ERROR "installed, but no public header includes it: ${extra}")
endif()
# The Python package's files may not be built yet.
if(EXISTS "${PREFIX}/broadloom")
  message(FATAL_ERROR "the installation has files of the Python package: ${PREFIX}/broadloom")
endif()
list(LENGTH headers count)
list(LENGTH installed installed_count)
message(STATUS "${count} public headers, ${installed_count} installed with what they include")
if(installed_count LESS count)
  message(FATAL_ERROR "fewer headers were installed than are public")
endif()
