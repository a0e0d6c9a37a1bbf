// The C functions that Procgen's libenv.so exports, by their names and layouts (libenv version 1).
// The library itself is the user's own installation: nothing of it is here or is linked.
#pragma once

#include <cstdint>

namespace procgen {

enum Dtype : int { kUint8 = 1, kInt32 = 2, kFloat32 = 3 };

struct Option {
  char name[128];
  int dtype;
  int count;  // of numbers at data
  void* data;
};
struct Options {
  Option* items;
  int count;
};

enum SpaceName : int { kObservation = 1, kAction = 2, kInfo = 3 };
struct TensorType {
  char name[128];
  int scalar_type;
  int dtype;
  int shape[16];
  int rank;
  std::int32_t low, high;  // bits of a number of that dtype
};

// Of one environment: a pointer for each tensor of a space, in the order of its tensor types.
struct Buffers {
  void** observations;
  float* rewards;
  std::uint8_t* first;
  void** infos;
  void** actions;
};

struct Libenv {
  int (*version)() = nullptr;
  void* (*make)(int num_envs, Options options) = nullptr;
  int (*tensor_types)(void* env, int space, TensorType* out) = nullptr;
  void (*set_buffers)(void* env, Buffers* buffers) = nullptr;
  void (*observe)(void* env) = nullptr;
  void (*act)(void* env) = nullptr;
  void (*close)(void* env) = nullptr;
  int (*get_state)(void* env, int i, char* bytes, int size) = nullptr;  // gives the bytes written
  void (*set_state)(void* env, int i, char* bytes, int size) = nullptr;
};

// Where assets lie beside a library that is part of the Python package.
struct Found {
  Libenv functions;
  const char* assets = "";  // with a '/' at its end; lives as long as the process
};

// Loads the library once. path: "" looks for the Python package procgen in PROCGEN_PATH, which is
// libenv.so or the folder that pip or unzip put `procgen` into, and in VIRTUAL_ENV and
// CONDA_PREFIX. Null: error, of BROADLOOM_ERROR_SIZE bytes, says why.
const Found* load(const char* path, char* error);

}  // namespace procgen
