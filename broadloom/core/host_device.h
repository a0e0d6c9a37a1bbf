// Marks functions that compile for the CPU and, under nvcc, for a GPU:
//
//   BROADLOOM_HD static void reset(const Params&, State& state, Random& random);
//
// A marked function calls only marked functions, allocates nothing and throws nothing. Without nvcc
// the mark is empty and costs nothing.
#pragma once

#ifdef __CUDACC__
#define BROADLOOM_HD __host__ __device__
#else
// Place it before the return type, or before `static`.
#define BROADLOOM_HD
#endif
