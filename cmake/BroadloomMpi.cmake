# Finds MPI, with which several processes train one run (docs/ranks.md). BROADLOOM_WITH_MPI: whether
# bridges/mpi is built.
set(BROADLOOM_MPI AUTO CACHE STRING
  "Train one run with several processes over MPI: ON, OFF, or AUTO (if MPI is found)")
set_property(CACHE BROADLOOM_MPI PROPERTY STRINGS AUTO ON OFF)
set(BROADLOOM_WITH_MPI OFF)
if(NOT BROADLOOM_MPI)
  return()
endif()

# Only the C interface is used.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
  set(BROADLOOM_WITH_MPI ON)
  message(STATUS "MPI ${MPI_CXX_VERSION}: ${MPI_CXX_COMPILER}")
elseif(NOT BROADLOOM_MPI STREQUAL "AUTO")
  message(FATAL_ERROR
    "BROADLOOM_MPI is ${BROADLOOM_MPI}, but no MPI was found. Run tools/setup.sh --mpi, or install "
    "libopenmpi-dev and openmpi-bin")
endif()
