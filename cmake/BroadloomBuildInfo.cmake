# Writes generated/broadloom_build_info.inc, what a manifest says about the build. Each build looks anew, for a commit
# changes the revision without touching a source; what includes the file compiles again only when the file changes.
#
#   broadloom_add_build_info(TARGET)
find_package(Git QUIET)
add_custom_target(broadloom_build_info
  COMMAND ${CMAKE_COMMAND} -DGIT=$<$<BOOL:${GIT_FOUND}>:${GIT_EXECUTABLE}> -DSOURCE=${PROJECT_SOURCE_DIR}
          -DOUTPUT=${PROJECT_BINARY_DIR}/generated/broadloom_build_info.inc -DVERSION=${PROJECT_VERSION}
          -DBUILD_TYPE=${CMAKE_BUILD_TYPE} "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
          -P ${CMAKE_CURRENT_LIST_DIR}/write_build_info.cmake
  BYPRODUCTS ${PROJECT_BINARY_DIR}/generated/broadloom_build_info.inc
  COMMENT "Asking Git for the revision"
  VERBATIM)

function(broadloom_add_build_info target)
  add_dependencies(${target} broadloom_build_info)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
endfunction()
