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
  std::string name;  // for messages
  struct Entry {
    Dtype dtype;
    std::vector<std::int64_t> shape;
    std::size_t begin, end;  // within data
  };
  Metadata metadata;
  std::map<std::string, Entry> tensors;
  std::string data;
};

// Writes atomically (see files.h), without a copy of the tensors. Adds the metadata key "checksum":
// XXH3-64 of the header, with the checksum's 16 digits as zeros, and of the data.
Status write_safetensors(const std::string& path, const std::vector<TensorRef>& tensors,
                         const Metadata& metadata);

// Parses and checks a file: lengths, JSON, types, shapes, offsets without holes or overlaps, and
// the checksum if there is one. kCorrupt names the fault. name: for messages. bytes: the file's
// content, which the result keeps.
Result<SafetensorsFile> parse_safetensors(std::string bytes, const std::string& name);
Result<SafetensorsFile> read_safetensors(const std::string& path);

// Copies the file's tensors into the views. Names, types and shapes must agree one to one; else
// kMismatch. Numbers must be within the views' ranges; else kCorrupt. On an error nothing is
// written. File tensors whose names begin with `optional` may have no view.
Status load_into(const SafetensorsFile& file, const std::vector<TensorRef>& tensors,
                 std::string_view optional = {});

// Checks that the file has the views' tensors, before memory is allocated for sizes that the file
// claims. Does not read the views' data.
Status check_named(const SafetensorsFile& file, const std::vector<TensorRef>& tensors);

// Copies only the tensors that the views name. Errors as load_into().
Status load_named(const SafetensorsFile& file, const std::vector<TensorRef>& tensors);

}  // namespace broadloom
