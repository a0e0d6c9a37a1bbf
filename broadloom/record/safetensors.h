// Reads and writes safetensors files: the checkpoint format. See docs/formats/checkpoint.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/core/tensor_ref.h"

namespace broadloom {

using Metadata = std::map<std::string, std::string>;

struct SafetensorsFile {
  std::string name;  // that stands for it in messages
  struct Entry {
    Dtype dtype;
    std::vector<std::int64_t> shape;
    std::size_t begin, end;  // within data
  };
  Metadata metadata;
  std::map<std::string, Entry> tensors;
  std::string data;
};

// Writes atomically (see files.h), from where the tensors lie: without a copy of them. metadata
// gains "checksum": XXH3-64 of the header with the checksum's sixteen digits as zeros, and of the
// data.
Status write_safetensors(const std::string& path, const std::vector<TensorRef>& tensors,
                         const Metadata& metadata);

// Everything is checked: lengths, JSON, types, shapes, offsets without holes or overlaps, the
// checksum where there is one. kCorrupt says what is wrong. `name` stands for the file in messages.
// bytes: the file's, which the result keeps.
Result<SafetensorsFile> parse_safetensors(std::string bytes, const std::string& name);
Result<SafetensorsFile> read_safetensors(const std::string& path);

// Copies the file's tensors into the views. Names, types and shapes must agree one to one,
// otherwise kMismatch says which does not, what was got and what was expected. Numbers must be
// within the views' ranges, otherwise kCorrupt says where which is not. Nothing is written then.
// Tensors of the file whose names begin with `optional` may stay without a place.
Status load_into(const SafetensorsFile& file, const std::vector<TensorRef>& tensors,
                 std::string_view optional = {});

// Whether load_named() would find these: asked before memory is taken for what the file only
// claims. The views' data is not looked at.
Status check_named(const SafetensorsFile& file, const std::vector<TensorRef>& tensors);

// Copies those of the file's tensors that the views name, and leaves the others. Errors as
// above.
Status load_named(const SafetensorsFile& file, const std::vector<TensorRef>& tensors);

}  // namespace broadloom
