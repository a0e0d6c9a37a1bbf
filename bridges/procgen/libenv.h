// The C functions of Procgen's libenv.so, with their names and layouts (libenv version 1). The
// library comes from the user's installation. This header includes and links nothing of it.
#pragma once

#include <cstdint>

namespace procgen {

enum Dtype : int { kUint8 = 1, kInt32 = 2, kFloat32 = 3 };

struct Option {
  char name[128];
  int dtype;
  int count;  // of numbers at `data`
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
  std::int32_t low, high;  // bits of a number of type dtype
};

// Buffers of one environment: a pointer per tensor of a space, in the order of its tensor types.
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
  int (*get_state)(void* env, int i, char* bytes, int size) = nullptr;  // returns the bytes written
  void (*set_state)(void* env, int i, char* bytes, int size) = nullptr;
};

// A loaded library, with the folder of assets in its Python package.
struct Found {
  Libenv functions;
  const char* assets = "";  // ends with '/'; valid during the process
};

// Loads the library once. path: libenv.so, or the folder that contains `procgen`. Empty: searches
// PROCGEN_PATH, VIRTUAL_ENV and CONDA_PREFIX. On failure returns null and writes the reason to
// `error` (BROADLOOM_ERROR_SIZE bytes).
const Found* load(const char* path, char* error);

}  // namespace procgen
