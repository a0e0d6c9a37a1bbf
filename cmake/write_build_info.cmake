# cmake -DGIT= -DSOURCE= -DOUTPUT= -DVERSION= -DBUILD_TYPE= -DCOMPILER= -P write_build_info.cmake: see
# BroadloomBuildInfo.cmake. The file keeps its time where nothing changed.
cmake_minimum_required(VERSION 3.25)
set(REVISION "")
if(GIT)
  # Whoever owns the clone, and without waiting for another Git that holds the index.
  execute_process(COMMAND ${CMAKE_COMMAND} -E env GIT_OPTIONAL_LOCKS=0
                          ${GIT} -c safe.directory=* -C ${SOURCE} describe --always --dirty --abbrev=12
                  OUTPUT_VARIABLE REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT REVISION)
  set(REVISION "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
"#define BROADLOOM_VERSION \"${VERSION}\"
#define BROADLOOM_REVISION \"${REVISION}\"
#define BROADLOOM_BUILD_TYPE \"${BUILD_TYPE}\"
#define BROADLOOM_COMPILER \"${COMPILER}\"
")
