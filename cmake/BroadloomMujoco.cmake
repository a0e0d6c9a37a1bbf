# Finds MuJoCo's headers in the package `mujoco-core`, in exactly the version of the bridge: its
# structures and its bits change with every release. BROADLOOM_WITH_MUJOCO: whether bridges/mujoco
# is built.
set(BROADLOOM_MUJOCO_VERSION 4.0.0)
set(mujoco_header_version 4000000)
set(BROADLOOM_MUJOCO AUTO CACHE STRING
  "Build the bridge to MuJoCo: ON, OFF, or AUTO (if its package is found)")
set_property(CACHE BROADLOOM_MUJOCO PROPERTY STRINGS AUTO ON OFF)
set(BROADLOOM_MUJOCO_DIR "" CACHE PATH
  "Folder of the Python package mujoco ${BROADLOOM_MUJOCO_VERSION}; empty: build/mujoco or .venv")
set(BROADLOOM_WITH_MUJOCO OFF)
if(NOT BROADLOOM_MUJOCO)
  return()
endif()

set(candidates ${BROADLOOM_MUJOCO_DIR})
if(NOT candidates)
  set(packages "lib/python3*/site-packages/mujoco")
  file(GLOB setup_folders "${PROJECT_SOURCE_DIR}/build/mujoco/${packages}")
  file(GLOB test_folders "${PROJECT_SOURCE_DIR}/.venv/${packages}")
  set(candidates ${setup_folders} ${test_folders})
endif()
foreach(folder IN LISTS candidates)
  set(header "${folder}/include/mujoco/mujoco.h")
  if(EXISTS "${header}")
    file(STRINGS "${header}" version REGEX "#define mjVERSION_HEADER ${mujoco_header_version}$")
    if(version)
      set(BROADLOOM_WITH_MUJOCO ON)
      # only in this scope, so that AUTO searches anew each time
      set(BROADLOOM_MUJOCO_DIR "${folder}")
      break()
    endif()
    message(STATUS "${folder} is not MuJoCo ${BROADLOOM_MUJOCO_VERSION}")
  endif()
endforeach()
if(BROADLOOM_WITH_MUJOCO)
  # -DBROADLOOM_MUJOCO_PACKAGES= names no folder, for what is built to be passed on.
  if(NOT DEFINED BROADLOOM_MUJOCO_PACKAGES)
    get_filename_component(BROADLOOM_MUJOCO_PACKAGES "${BROADLOOM_MUJOCO_DIR}" DIRECTORY)
  endif()
  message(STATUS "MuJoCo ${BROADLOOM_MUJOCO_VERSION}: ${BROADLOOM_MUJOCO_DIR}")
elseif(NOT BROADLOOM_MUJOCO STREQUAL "AUTO")
  message(FATAL_ERROR "BROADLOOM_MUJOCO is ${BROADLOOM_MUJOCO}, but MuJoCo \
${BROADLOOM_MUJOCO_VERSION} was not found in '${candidates}'. Run tools/setup.sh --mujoco, or \
name the folder of the Python package `mujoco`, which has include/ in it, with \
-DBROADLOOM_MUJOCO_DIR=...")
endif()
