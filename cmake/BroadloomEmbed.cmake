# Puts text files into a target as string constants, so that the program needs no data files beside
# it.
#
#   broadloom_embed(TARGET HEADER NAMESPACE NAME=FILE ...)
#
# The target's sources can then include "HEADER", which declares `extern const std::string_view
# NAME` in the namespace for every file. Relative files are looked up in the calling folder. A
# changed file is embedded anew by the next build.
set(BROADLOOM_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_files.cmake)

function(broadloom_embed target header namespace)
  set(folder ${PROJECT_BINARY_DIR}/generated)
  string(REGEX REPLACE "\\.h$" ".cc" source ${folder}/${header})
  set(declarations "")
  set(files "")
  set(arguments "")
  foreach(pair IN LISTS ARGN)
    if(NOT pair MATCHES "^([A-Za-z_][A-Za-z0-9_]*)=(.+)$")
      message(FATAL_ERROR "broadloom_embed: got '${pair}'; expected NAME=FILE")
    endif()
    set(name ${CMAKE_MATCH_1})
    cmake_path(ABSOLUTE_PATH CMAKE_MATCH_2 OUTPUT_VARIABLE file)
    string(APPEND declarations "extern const std::string_view ${name};\n")
    list(APPEND files ${file})
    list(APPEND arguments ${name}=${file})
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/${header} @ONLY CONTENT
"// Made by broadloom_embed; do not edit.
#pragma once
#include <string_view>
namespace @namespace@ {
@declarations@}  // namespace @namespace@
")
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${source} -DHEADER=${header} -DNAMESPACE=${namespace}
            -P ${BROADLOOM_EMBED_SCRIPT} -- ${arguments}
    DEPENDS ${files} ${BROADLOOM_EMBED_SCRIPT}
    COMMENT "Embedding files for ${header}"
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
