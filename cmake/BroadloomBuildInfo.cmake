# Writes generated/broadloom/core/build_info.inc: what the manifest says about the build.
find_package(Git QUIET)
set(BROADLOOM_REVISION "unknown")
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} describe --always --dirty --abbrev=12
                  OUTPUT_VARIABLE BROADLOOM_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/broadloom_build_info.inc CONTENT
"#define BROADLOOM_VERSION \"@PROJECT_VERSION@\"
#define BROADLOOM_REVISION \"@BROADLOOM_REVISION@\"
#define BROADLOOM_BUILD_TYPE \"@CMAKE_BUILD_TYPE@\"
#define BROADLOOM_COMPILER \"@CMAKE_CXX_COMPILER_ID@ @CMAKE_CXX_COMPILER_VERSION@\"
" @ONLY)
