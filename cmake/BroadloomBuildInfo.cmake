# Writes generated/broadloom_build_info.inc, what a manifest says about the build. Each build looks
# anew, for a commit changes the revision without touching a source; what includes the file compiles
# again only when the file changes.
#
#   broadloom_add_build_info(TARGET)
find_package(Git QUIET)
set(BROADLOOM_WRITE_BUILD_INFO
  ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}
  -DOUTPUT=${PROJECT_BINARY_DIR}/generated/broadloom_build_info.inc
  -DVERSION=${PROJECT_VERSION} -DBUILD_TYPE=${CMAKE_BUILD_TYPE}
  "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
if(GIT_FOUND)
  list(APPEND BROADLOOM_WRITE_BUILD_INFO -DGIT=${GIT_EXECUTABLE})
endif()
list(APPEND BROADLOOM_WRITE_BUILD_INFO -P ${CMAKE_CURRENT_LIST_DIR}/write_build_info.cmake)
# Once now, for tools that read sources in a folder that was configured and not built.
execute_process(COMMAND ${BROADLOOM_WRITE_BUILD_INFO} COMMAND_ERROR_IS_FATAL ANY)
add_custom_target(broadloom_build_info
  COMMAND ${BROADLOOM_WRITE_BUILD_INFO}
  BYPRODUCTS ${PROJECT_BINARY_DIR}/generated/broadloom_build_info.inc
  COMMENT "Asking Git for the revision"
  VERBATIM)

function(broadloom_add_build_info target)
  add_dependencies(${target} broadloom_build_info)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
endfunction()
