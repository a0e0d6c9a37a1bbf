# Run by the installation: SOURCE_DIR, INCLUDE_DIR (where to) and WITH_PROGRAM are set. It looks at
# the includes anew each time, so that a build folder need not be configured again when they change.
include("${SOURCE_DIR}/cmake/BroadloomHeaders.cmake")
cmake_path(ABSOLUTE_PATH INCLUDE_DIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")

broadloom_public_headers("${SOURCE_DIR}" headers)
if(NOT WITH_PROGRAM)
  list(REMOVE_ITEM headers broadloom/program.h)
endif()
broadloom_header_closure("${SOURCE_DIR}" "${headers}" closure)
foreach(header IN LISTS closure)
  broadloom_header_file("${SOURCE_DIR}" "${header}" file)
  cmake_path(GET header PARENT_PATH folder)
  file(INSTALL DESTINATION "${INCLUDE_DIR}/${folder}" TYPE FILE FILES "${file}")
endforeach()
