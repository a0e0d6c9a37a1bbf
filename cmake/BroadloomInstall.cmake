# Install rules: the program, the library, its headers, and the package for find_package(broadloom).
option(BROADLOOM_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT BROADLOOM_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

set(BROADLOOM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/broadloom)
install(TARGETS broadloom broadloom_research EXPORT broadloom_targets ARCHIVE DESTINATION
  ${CMAKE_INSTALL_LIBDIR})
# The public headers with what they include, and nothing else: public_headers.txt is the list.
if(TARGET broadloom_program)
  set(with_program ON)
  install(TARGETS broadloom_program EXPORT broadloom_targets ARCHIVE DESTINATION
    ${CMAKE_INSTALL_LIBDIR})
else()
  set(with_program OFF)
endif()
install(CODE "set(SOURCE_DIR [==[${PROJECT_SOURCE_DIR}]==])
set(INCLUDE_DIR [==[${CMAKE_INSTALL_INCLUDEDIR}]==])
set(WITH_PROGRAM ${with_program})")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_headers.cmake)
install(TARGETS broadloom_bridges EXPORT broadloom_targets ARCHIVE DESTINATION
  ${CMAKE_INSTALL_LIBDIR})
if(TARGET broadloom_mujoco)
  install(TARGETS broadloom_mujoco EXPORT broadloom_targets ARCHIVE DESTINATION
    ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET broadloom_mpi)
  install(TARGETS broadloom_mpi EXPORT broadloom_targets ARCHIVE DESTINATION
    ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET broadloom_cuda)
  install(TARGETS broadloom_cuda EXPORT broadloom_targets ARCHIVE DESTINATION
    ${CMAKE_INSTALL_LIBDIR})
endif()
install(EXPORT broadloom_targets NAMESPACE broadloom:: DESTINATION ${BROADLOOM_PACKAGE_DIR})
if(TARGET broadloom_cli)
  install(TARGETS broadloom_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD_PARTY.md DESTINATION
  ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/broadloomConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/generated/broadloomConfig.cmake
                              INSTALL_DESTINATION ${BROADLOOM_PACKAGE_DIR})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/broadloomConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/broadloomConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/broadloomConfigVersion.cmake
        DESTINATION ${BROADLOOM_PACKAGE_DIR})
