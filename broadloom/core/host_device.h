// Marks functions that must compile for the processor and, under nvcc, for a GPU:
//
//   BROADLOOM_HD static void reset(const Params&, State& state, Random& random);
//
// A function with this mark calls no function without it, allocates nothing and throws nothing. It
// costs nothing where there is no GPU: the mark is then empty.
#pragma once

#ifdef __CUDACC__
#define BROADLOOM_HD __host__ __device__
#else
// Before the return type, or before `static`.
#define BROADLOOM_HD
#endif
