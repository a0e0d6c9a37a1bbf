# cmake -DSOURCE_DIR= -DSCRATCH= -P closure_test.cmake: finds the includes of public headers, and
# refuses internal ones.
cmake_policy(VERSION 3.25)
include("${SOURCE_DIR}/cmake/BroadloomHeaders.cmake")
file(REMOVE_RECURSE "${SCRATCH}")
file(WRITE "${SCRATCH}/broadloom/a.h"
  "#pragma once\n  #  include <broadloom/b.h>  // with blanks\n#include <vector>\n")
file(WRITE "${SCRATCH}/broadloom/b.h" "#include \"broadloom/a.h\"\n")
file(WRITE "${SCRATCH}/broadloom/kernel.h" "#include \"broadloom/sums-inl.h\"\n")
file(WRITE "${SCRATCH}/broadloom/upwards.h" "#include \"research/report/page.h\"\n")
file(WRITE "${SCRATCH}/broadloom/lost.h" "#include \"broadloom/nowhere.h\"\n")
foreach(header a kernel upwards lost)
  file(WRITE "${SCRATCH}/${header}.cmake" "cmake_policy(VERSION 3.25)
include(\"${SOURCE_DIR}/cmake/BroadloomHeaders.cmake\")
broadloom_header_closure(\"${SCRATCH}\" broadloom/${header}.h found)
message(\"found \${found}\")
")
endforeach()

function(expect header expected_code words)
  execute_process(COMMAND ${CMAKE_COMMAND} -P "${SCRATCH}/${header}.cmake" RESULT_VARIABLE code
    ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  string(FIND "${said}" "${words}" place)
  if(place EQUAL -1 OR NOT code EQUAL expected_code)
    message(FATAL_ERROR
      "${header}.h: expected ${expected_code}, '${words}'; got ${code}, '${said}'")
  endif()
endfunction()
expect(a 0 "found broadloom/a.h;broadloom/b.h")
expect(kernel 1 "broadloom/kernel.h -> broadloom/sums-inl.h")
expect(upwards 1 "broadloom/upwards.h -> research/report/page.h")
expect(lost 1 "no header broadloom/nowhere.h")
