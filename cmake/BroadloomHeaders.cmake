# The public headers (public_headers.txt), and those that they include.
cmake_policy(VERSION 3.25)

# The listed headers, as they are included.
function(broadloom_public_headers source_dir out)
  file(STRINGS "${source_dir}/cmake/public_headers.txt" headers REGEX "^[^#]")
  set(${out} ${headers} PARENT_SCOPE)
endfunction()

# The file of a header in the source tree.
function(broadloom_header_file source_dir header out)
  foreach(root "${source_dir}" "${source_dir}/cli/include")
    if(EXISTS "${root}/${header}")
      set(${out} "${root}/${header}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "no header ${header}: mend cmake/public_headers.txt, or the include of it")
endfunction()

# The given headers with all that they include of ours. Kernels (*-inl.h) need Highway, which users
# do not get, and research/ stays inside: it is an error to reach either, said with the includes on
# the way.
function(broadloom_header_closure source_dir headers out)
  set(found)
  set(queue ${headers})
  foreach(header IN LISTS headers)
    set(way_${header} "${header}")
  endforeach()
  while(queue)
    list(POP_FRONT queue header)
    if(header IN_LIST found)
      continue()
    endif()
    if(header MATCHES "-inl\\.h$" OR NOT header MATCHES "^broadloom/")
      message(FATAL_ERROR "a public header includes what is not for users: ${way_${header}}")
    endif()
    list(APPEND found "${header}")
    broadloom_header_file("${source_dir}" "${header}" file)
    file(STRINGS "${file}" lines REGEX
      "^[ \t]*#[ \t]*include[ \t]*[<\"](broadloom|research|cuda|bridges|cli)/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[^<\"]*[<\"]([^>\"]+)[>\"].*$" "\\1" included "${line}")
      if(NOT DEFINED way_${included})
        set(way_${included} "${way_${header}} -> ${included}")
      endif()
      list(APPEND queue "${included}")
    endforeach()
  endwhile()
  list(SORT found)
  set(${out} ${found} PARENT_SCOPE)
endfunction()
