# cmake -DGIT= -DSOURCE= -DOUTPUT= -DVERSION= -DBUILD_TYPE= -DCOMPILER= -P write_build_info.cmake:
# see BroadloomBuildInfo.cmake. The file keeps its time where nothing changed.
cmake_minimum_required(VERSION 3.25)
set(REVISION "")
if(EXISTS ${SOURCE}/REVISION)  # in a source package, which lies in no clone, or in another's
  file(STRINGS ${SOURCE}/REVISION REVISION LIMIT_COUNT 1)
elseif(GIT)
  # Whoever owns the clone, and without its lock: `describe --dirty` would take it, and stop a
  # commit that runs meanwhile.
  set(git ${CMAKE_COMMAND} -E env GIT_OPTIONAL_LOCKS=0 ${GIT} -c safe.directory=* -C ${SOURCE})
  execute_process(COMMAND ${git} describe --always --abbrev=12
                  OUTPUT_VARIABLE REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${git} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE CHANGES OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(REVISION AND CHANGES)
    string(APPEND REVISION "-dirty")
  endif()
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
