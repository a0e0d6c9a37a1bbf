# Finds SQLite, which keeps the stores of studies: SQLite::SQLite3.
find_package(SQLite3 QUIET)
if(NOT SQLite3_FOUND)
  message(FATAL_ERROR "SQLite was not found. Install Debian's package libsqlite3-dev, as \
tools/setup.sh does, or point CMAKE_PREFIX_PATH at an installation with sqlite3.h and libsqlite3.")
endif()
# Version 3.37 brought the STRICT tables that stores are made of.
if(SQLite3_VERSION VERSION_LESS 3.37)
  message(FATAL_ERROR
    "SQLite ${SQLite3_VERSION} is too old; 3.37 or newer is needed (Debian 12 has 3.40).")
endif()
