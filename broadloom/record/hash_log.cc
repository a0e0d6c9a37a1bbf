#include "broadloom/record/hash_log.h"

#include <fmt/core.h>

#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "broadloom/core/hash.h"

namespace broadloom {
namespace {

static_assert(std::endian::native == std::endian::little, "hashes.bin is little-endian");

constexpr char kMagic[8] = {'B', 'L', 'H', 'A', 'S', 'H', 'E', 'S'};
constexpr std::uint64_t kOneShape = 1;  // version: all records have the header's shape
constexpr std::uint64_t kShapes = 2;  // version: each record has its own shape after its iteration
constexpr std::size_t kNumber = sizeof(std::uint64_t);
constexpr std::int64_t kHeadBytes = 8 * static_cast<std::int64_t>(kNumber);
// Larger shapes, which no config allows, mean a damaged header.
constexpr std::int64_t kLargest = std::int64_t{1} << 31;

void append_numbers(std::string& out, std::span<const std::uint64_t> numbers) {
  out.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}

// Appends the hash of all bytes so far.
void seal(std::string& bytes) {
  const std::uint64_t hash = hash64(bytes);
  append_numbers(bytes, {&hash, 1});
}

bool is_sealed(std::string_view bytes) {
  std::uint64_t hash = 0;
  std::memcpy(&hash, bytes.data() + bytes.size() - kNumber, kNumber);
  return hash == hash64(bytes.substr(0, bytes.size() - kNumber));
}

std::string encode_head(const HashShape& shape) {
  std::string head(kMagic, sizeof kMagic);
  const std::uint64_t numbers[] = {shape.varies ? kShapes : kOneShape,
                                   hashed_fields(shape.sizes()).size(),
                                   static_cast<std::uint64_t>(shape.num_envs),
                                   static_cast<std::uint64_t>(shape.num_steps),
                                   static_cast<std::uint64_t>(shape.observation_size),
                                   static_cast<std::uint64_t>(shape.action_size)};
  append_numbers(head, numbers);
  seal(head);
  return head;
}

Status damaged(const std::string& path, const std::string& what) {
  return {ErrorKind::kCorrupt,
          fmt::format("'{}' is damaged: {}; train the run again with --hashes", path, what)};
}

Result<HashShape> decode_head(const std::string& head, const std::string& path) {
  if (std::memcmp(head.data(), kMagic, sizeof kMagic) != 0) {
    return damaged(path, "it does not begin like a file of hashes");
  }
  std::uint64_t numbers[6];
  std::memcpy(numbers, head.data() + sizeof kMagic, sizeof numbers);
  if (numbers[0] != kOneShape && numbers[0] != kShapes) {
    return Status(
        ErrorKind::kCorrupt,
        fmt::format("'{}' has version {}, but this program reads versions {} and {}; use the "
                    "program that wrote it",
                    path, numbers[0], kOneShape, kShapes));
  }
  if (!is_sealed(head)) return damaged(path, "its head was altered");
  HashShape shape;
  shape.num_envs = static_cast<std::int64_t>(numbers[2]);
  shape.num_steps = static_cast<std::int64_t>(numbers[3]);
  shape.observation_size = static_cast<std::int64_t>(numbers[4]);
  shape.action_size = static_cast<std::int64_t>(numbers[5]);
  shape.varies = numbers[0] == kShapes;
  const auto sane = [](std::int64_t extent) { return extent > 0 && extent < kLargest; };
  shape.has_critic = numbers[1] == hashed_fields(HashShape{.has_critic = true}.sizes()).size();
  if (numbers[1] != hashed_fields(shape.sizes()).size() || !sane(shape.num_envs) ||
      !sane(shape.num_steps)) {
    return damaged(path, "its head has a shape that no run has");
  }
  return shape;
}

// Numbers before a record's rows: its iteration, and its shape if each record has one.
std::int64_t lead_numbers(const HashShape& shape) { return shape.varies ? 3 : 1; }

// Bytes of the header and the first records of a file. kCorrupt if it has fewer records.
Result<std::int64_t> first_record_bytes(const std::string& path, const HashShape& shape,
                                        std::int64_t iterations) {
  if (iterations == 0) return std::int64_t{0};
  if (!shape.varies) return kHeadBytes + iterations * shape.record_bytes();
  Result<HashReader> reader = HashReader::open(path);
  if (!reader.ok()) return reader.status();
  for (std::int64_t i = 0; i < iterations; ++i) {
    const Result<bool> more = reader.value().next();
    if (!more.ok()) return more.status();
    if (more.value()) continue;
    return damaged(path, fmt::format("it has the records of {} iterations, but {} were written", i,
                                     iterations));
  }
  return reader.value().position();
}

}  // namespace

BlockSizes HashShape::sizes() const {
  return {.T = static_cast<int>(num_steps),
          .N = static_cast<int>(num_envs),
          .D = static_cast<int>(observation_size),
          .A = static_cast<int>(action_size),
          .critic = {has_critic ? 1 : 0}};
}

// Iteration and shape, rows, columns, parameters, and the hash of all these.
std::int64_t HashShape::record_bytes() const {
  const auto fields = static_cast<std::int64_t>(hashed_fields(sizes()).size());
  return static_cast<std::int64_t>(kNumber) *
         (fields * (num_envs + num_steps) + lead_numbers(*this) + 2);
}

Result<HashLog> HashLog::open(const std::string& path, const HashShape& shape,
                              std::int64_t iterations) {
  const Result<std::int64_t> keep = first_record_bytes(path, shape, iterations);
  if (!keep.ok()) return keep.status();
  Result<AppendLog> opened = AppendLog::open(path, keep.value());
  if (!opened.ok()) return opened.status();
  HashLog log;
  log.log_ = opened.take();
  log.varies_ = shape.varies;
  if (iterations == 0) BROADLOOM_TRY(log.log_.append(encode_head(shape)));
  log.record_.reserve(static_cast<std::size_t>(shape.record_bytes()));
  return log;
}

Status HashLog::append(std::int64_t iteration, const BlockHashes& hashes) {
  record_.clear();
  const auto number = static_cast<std::uint64_t>(iteration);
  append_numbers(record_, {&number, 1});
  if (varies_) {
    const std::uint64_t shape[] = {static_cast<std::uint64_t>(hashes.N),
                                   static_cast<std::uint64_t>(hashes.T)};
    append_numbers(record_, shape);
  }
  append_numbers(record_, hashes.rows);
  append_numbers(record_, hashes.columns);
  append_numbers(record_, {&hashes.params, 1});
  seal(record_);
  return log_.append(record_);
}

Result<HashReader> HashReader::open(const std::string& path) {
  HashReader reader;
  reader.path_ = path;
  BROADLOOM_TRY(check_regular(path));  // a pipe would block
  reader.file_.open(path, std::ios::binary);
  if (!reader.file_) return io_error("open", path);
  std::string head(static_cast<std::size_t>(kHeadBytes), '\0');
  if (!reader.file_.read(head.data(), kHeadBytes)) {
    return damaged(path,
                   fmt::format("it has {} bytes, fewer than its head", reader.file_.gcount()));
  }
  Result<HashShape> shape = decode_head(head, path);
  if (!shape.ok()) return shape.status();
  reader.shape_ = shape.value();
  reader.file_.seekg(0, std::ios::end);
  reader.left_ = static_cast<std::int64_t>(reader.file_.tellg()) - kHeadBytes;
  reader.file_.seekg(kHeadBytes);
  reader.position_ = kHeadBytes;
  return reader;
}

Result<bool> HashReader::next() {
  Result<bool> is_there = read_record();
  if (!is_there.ok() || !is_there.value()) return is_there;
  const std::string record_name = fmt::format("the record of iteration {}", iteration_ + 1);
  BROADLOOM_TRY(check_record(record_name));
  iteration_ += 1;
  first_step_ += std::int64_t{hashes_.N} * hashes_.T;
  const char* source = record_.data() + kNumber;
  const auto take = [&source](void* target, std::size_t bytes) {
    std::memcpy(target, source, bytes);
    source += bytes;
  };
  HashShape shape = shape_;
  if (shape_.varies) {
    take(&shape.num_envs, kNumber);
    take(&shape.num_steps, kNumber);
  }
  if (hashes_.N != shape.num_envs || hashes_.T != shape.num_steps) {
    hashes_ = BlockHashes(shape.sizes());
  }
  take(hashes_.rows.data(), hashes_.rows.size() * kNumber);
  take(hashes_.columns.data(), hashes_.columns.size() * kNumber);
  take(&hashes_.params, kNumber);
  return true;
}

// Reads the next record's bytes; false if the file ends before or in it.
Result<bool> HashReader::read_record() {
  HashShape shape = shape_;
  const std::int64_t lead = lead_numbers(shape) * static_cast<std::int64_t>(kNumber);
  cut_ = left_ > 0 && left_ < lead;
  if (left_ < lead) return false;
  record_.resize(static_cast<std::size_t>(lead));
  if (!file_.read(record_.data(), lead)) return io_error("read", path_);
  if (shape.varies) {
    std::memcpy(&shape.num_envs, record_.data() + kNumber, kNumber);
    std::memcpy(&shape.num_steps, record_.data() + 2 * kNumber, kNumber);
    const auto fits = [](std::int64_t n, std::int64_t most) { return n >= 1 && n <= most; };
    if (!fits(shape.num_envs, shape_.num_envs) || !fits(shape.num_steps, shape_.num_steps)) {
      return damaged(path_, fmt::format("the record of iteration {} was altered", iteration_ + 1));
    }
  }
  const std::int64_t bytes = shape.record_bytes();
  cut_ = left_ < bytes;
  if (cut_) {
    file_.seekg(position_);
    return false;
  }
  record_.resize(static_cast<std::size_t>(bytes));
  if (!file_.read(record_.data() + lead, bytes - lead)) return io_error("read", path_);
  left_ -= bytes;
  position_ += bytes;
  return true;
}

Status HashReader::check_record(const std::string& record_name) const {
  if (!is_sealed(record_)) return damaged(path_, record_name + " was altered");
  std::uint64_t iteration = 0;
  std::memcpy(&iteration, record_.data(), kNumber);
  if (iteration == static_cast<std::uint64_t>(iteration_ + 1)) return {};
  return damaged(path_,
                 fmt::format("expected {}, got that of iteration {}", record_name, iteration));
}

}  // namespace broadloom
