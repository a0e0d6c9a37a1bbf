#include "broadloom/record/safetensors.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "broadloom/record/files.h"
#include "broadloom/record/json.h"

namespace broadloom {
namespace {

constexpr std::size_t kLongestHeader = 100'000'000;
constexpr const char* kNoChecksum = "0000000000000000";
constexpr const char* kHeaderChecksum = "\"checksum\":\"";

struct DtypeName {
  Dtype dtype;
  const char* name;
};
constexpr DtypeName kDtypes[] = {{Dtype::kBool, "BOOL"}, {Dtype::kI8, "I8"},   {Dtype::kU8, "U8"},
                                 {Dtype::kI16, "I16"},   {Dtype::kU16, "U16"}, {Dtype::kI32, "I32"},
                                 {Dtype::kU32, "U32"},   {Dtype::kI64, "I64"}, {Dtype::kU64, "U64"},
                                 {Dtype::kF32, "F32"},   {Dtype::kF64, "F64"}};

const char* name_of(Dtype dtype) {
  for (const DtypeName& entry : kDtypes) {
    if (entry.dtype == dtype) return entry.name;
  }
  return "?";
}

std::string checksum(std::string_view header_without, std::span<const std::string_view> data) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, header_without.data(), header_without.size());
  for (const std::string_view part : data) XXH3_64bits_update(&state, part.data(), part.size());
  return fmt::format("{:016x}", XXH3_64bits_digest(&state));
}

// Place of the checksum's digits in the header, if it has one.
std::optional<std::size_t> checksum_place(std::string_view header) {
  const std::size_t key = header.find(kHeaderChecksum);
  if (key == std::string_view::npos) return std::nullopt;
  const std::size_t place = key + std::strlen(kHeaderChecksum);
  if (place + 16 > header.size()) return std::nullopt;
  return place;
}

// Parses one file. Every fault gives the same kind of error.
class Parser {
 public:
  Parser(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Result<SafetensorsFile> parse() {
    BROADLOOM_TRY(split());
    BROADLOOM_TRY(check_checksum());
    const Json header = Json::parse(header_);
    if (!header.is_object()) return damaged("its header is not a JSON object");
    for (const auto& [key, value] : header.members()) {
      BROADLOOM_TRY(key == "__metadata__" ? read_metadata(value) : read_tensor(key, value));
    }
    BROADLOOM_TRY(check_coverage());
    file_.name = name_;
    return std::move(file_);
  }
  // Bytes before the tensors' data.
  std::size_t data_begin() const { return bytes_.size() - data_.size(); }

 private:
  Status damaged(const std::string& what) const {
    return {ErrorKind::kCorrupt, fmt::format("'{}' is damaged or was cut short: {}", name_, what)};
  }

  Status split() {
    std::uint64_t length = 0;
    if (bytes_.size() < sizeof length) {
      return damaged(fmt::format("it has {} bytes, too few for a header", bytes_.size()));
    }
    for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<std::uint8_t>(bytes_[i]);
    if (length > kLongestHeader || length > bytes_.size() - sizeof length) {
      return damaged(
          fmt::format("it has {} bytes but its header claims {}", bytes_.size(), length));
    }
    header_ = bytes_.substr(sizeof length, length);
    data_ = bytes_.substr(sizeof length + length);
    if (header_.empty() || header_.front() != '{')
      return damaged("its header does not begin with '{'");
    return {};
  }

  Status check_checksum() const {
    const std::optional<std::size_t> place = checksum_place(header_);
    if (!place) return {};
    std::string blank(header_);
    blank.replace(*place, 16, kNoChecksum);
    const std::string expected = checksum(blank, {&data_, 1});
    const std::string_view got = header_.substr(*place, 16);
    if (got == expected) return {};
    return damaged(fmt::format("it names the checksum {}, but its content has {}", got, expected));
  }

  Status read_metadata(const Json& value) {
    if (!value.is_object()) return damaged("its metadata is not an object");
    for (const auto& [key, text] : value.members()) {
      if (!text.is_string()) return damaged(fmt::format("metadata '{}' is not a string", key));
      file_.metadata[key] = text.text();
    }
    return {};
  }

  Status read_tensor(const std::string& key, const Json& value) {
    if (!value["dtype"].is_string() || !value["shape"].is_array() ||
        !value["data_offsets"].is_array() || value["data_offsets"].size() != 2) {
      return damaged(fmt::format("tensor '{}' has no valid dtype, shape and data_offsets", key));
    }
    SafetensorsFile::Entry entry{};
    BROADLOOM_TRY(read_dtype(key, value["dtype"].text(), entry));
    std::size_t size = dtype_size(entry.dtype);
    for (const Json& extent : value["shape"].elements()) {
      if (!extent.is_unsigned()) return damaged(fmt::format("tensor '{}' has a bad shape", key));
      const std::uint64_t count = extent.integer<std::uint64_t>();
      if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return damaged(fmt::format("tensor '{}' has a bad shape", key));
      }
      if (count != 0 && size > data_.size() / count) {
        return damaged(fmt::format("tensor '{}' is larger than the file", key));
      }
      size *= count;
      entry.shape.push_back(static_cast<std::int64_t>(count));
    }
    const Json& offsets = value["data_offsets"];
    if (!offsets.at(0).is_unsigned() || !offsets.at(1).is_unsigned()) {
      return damaged(fmt::format("tensor '{}' has bad offsets", key));
    }
    entry.begin = offsets.at(0).integer<std::size_t>();
    entry.end = offsets.at(1).integer<std::size_t>();
    if (entry.begin > entry.end || entry.end > data_.size() || entry.end - entry.begin != size) {
      return damaged(fmt::format("tensor '{}' has offsets {} to {} for {} bytes", key, entry.begin,
                                 entry.end, size));
    }
    file_.tensors[key] = entry;
    return {};
  }

  Status read_dtype(const std::string& key, const std::string& text,
                    SafetensorsFile::Entry& entry) const {
    for (const DtypeName& known : kDtypes) {
      if (text != known.name) continue;
      entry.dtype = known.dtype;
      return {};
    }
    return damaged(fmt::format("tensor '{}' has the unknown type '{}'", key, text));
  }

  Status check_coverage() const {
    std::vector<std::pair<std::size_t, std::size_t>> spans;
    for (const auto& [key, entry] : file_.tensors) spans.emplace_back(entry.begin, entry.end);
    std::sort(spans.begin(), spans.end());
    std::size_t end = 0;
    for (const auto& [span_begin, span_end] : spans) {
      if (span_begin != end) return damaged("its tensors overlap or leave holes");
      end = span_end;
    }
    if (end != data_.size()) {
      return damaged(fmt::format("its tensors take {} bytes of {}", end, data_.size()));
    }
    return {};
  }

  std::string_view bytes_, header_, data_;
  const std::string& name_;
  SafetensorsFile file_;
};

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Status check_tensor(const SafetensorsFile& file, const TensorRef& tensor) {
  const auto found = file.tensors.find(tensor.name);
  if (found == file.tensors.end()) {
    return {ErrorKind::kMismatch,
            fmt::format(
                "the checkpoint has no tensor '{}', which this run needs; it belongs to another "
                "environment, network or configuration",
                tensor.name)};
  }
  const SafetensorsFile::Entry& entry = found->second;
  if (entry.dtype == tensor.dtype && entry.shape == tensor.shape) return {};
  return {ErrorKind::kMismatch,
          fmt::format("the checkpoint's tensor '{}' is {} {}, expected {} {}; it belongs to "
                      "another environment, "
                      "network or configuration",
                      tensor.name, name_of(entry.dtype), shape_text(entry.shape),
                      name_of(tensor.dtype), shape_text(tensor.shape))};
}

// Checks all values before it writes the first.
Status copy_into(const SafetensorsFile& file, const std::vector<TensorRef>& tensors) {
  for (const TensorRef& tensor : tensors) {
    const char* numbers = file.data.data() + file.tensors.at(tensor.name).begin;
    const Status status = check_values(tensor, numbers);
    if (!status.ok()) {
      return {status.kind(), fmt::format("'{}' cannot be right: {}", file.name, status.message())};
    }
  }
  for (const TensorRef& tensor : tensors) {
    const SafetensorsFile::Entry& entry = file.tensors.at(tensor.name);
    if (tensor.bytes() == 0) continue;
    std::memcpy(tensor.data, file.data.data() + entry.begin, tensor.bytes());
  }
  return {};
}

}  // namespace

Status write_safetensors(const std::string& path, const std::vector<TensorRef>& tensors,
                         const Metadata& metadata) {
  // Largest alignment first, then by name, like the format's reference writer.
  std::vector<const TensorRef*> order;
  order.reserve(tensors.size());
  for (const TensorRef& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const TensorRef* a, const TensorRef* b) {
    const std::size_t size_a = dtype_size(a->dtype), size_b = dtype_size(b->dtype);
    return size_a != size_b ? size_a > size_b : a->name < b->name;
  });
  Json header;
  for (const auto& [key, text] : metadata) header["__metadata__"][key] = text;
  header["__metadata__"]["checksum"] = kNoChecksum;
  std::vector<std::string_view> parts(1);  // the header, then the tensors
  std::size_t end = 0;
  for (const TensorRef* tensor : order) {
    const std::size_t begin = end;
    end += tensor->bytes();
    parts.emplace_back(static_cast<const char*>(tensor->data), tensor->bytes());
    header[tensor->name] = {{"dtype", name_of(tensor->dtype)},
                            {"shape", tensor->shape},
                            {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  text.replace(*checksum_place(text), 16, checksum(text, std::span(parts).subspan(1)));
  std::string front;
  for (int i = 0; i < 8; ++i) front.push_back(static_cast<char>(text.size() >> (8 * i) & 0xff));
  front += text;
  parts[0] = front;
  return write_file_atomically(path, parts);
}

Result<SafetensorsFile> parse_safetensors(std::string bytes, const std::string& name) {
  Parser parser(bytes, name);
  Result<SafetensorsFile> file = parser.parse();
  if (!file.ok()) return file;
  bytes.erase(0, parser.data_begin());
  file.value().data = std::move(bytes);
  return file;
}

Result<SafetensorsFile> read_safetensors(const std::string& path) {
  Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  return parse_safetensors(bytes.take(), path);
}

Status check_named(const SafetensorsFile& file, const std::vector<TensorRef>& tensors) {
  std::set<std::string> names;
  for (const TensorRef& tensor : tensors) {
    BROADLOOM_TRY(check_tensor(file, tensor));
    if (!names.insert(tensor.name).second) {
      return {ErrorKind::kMismatch,
              fmt::format("got the tensor name '{}' twice, expected different names", tensor.name)};
    }
  }
  return {};
}

Status load_named(const SafetensorsFile& file, const std::vector<TensorRef>& tensors) {
  BROADLOOM_TRY(check_named(file, tensors));
  return copy_into(file, tensors);
}

Status load_into(const SafetensorsFile& file, const std::vector<TensorRef>& tensors,
                 std::string_view optional) {
  BROADLOOM_TRY(check_named(file, tensors));
  if (file.tensors.size() != tensors.size()) {
    for (const auto& named : file.tensors) {
      const std::string& name = named.first;
      const bool known = std::any_of(tensors.begin(), tensors.end(),
                                     [&](const TensorRef& tensor) { return tensor.name == name; });
      if (known || (!optional.empty() && name.rfind(optional, 0) == 0)) continue;
      return {
          ErrorKind::kMismatch,
          fmt::format(
              "the checkpoint has a tensor '{}' that this run does not use; it belongs to another "
              "environment, network or configuration",
              name)};
    }
  }
  return copy_into(file, tensors);
}

}  // namespace broadloom
