// Marks element functions that must compile for the host and, under nvcc, for the device.
#pragma once

#ifdef __CUDACC__
#define BROADLOOM_HD __host__ __device__
#else
#define BROADLOOM_HD
#endif
