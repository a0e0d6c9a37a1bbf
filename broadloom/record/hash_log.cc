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
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kNumber = sizeof(std::uint64_t);
constexpr std::int64_t kHeadBytes = 8 * static_cast<std::int64_t>(kNumber);
// Shapes that no config allows mean that the head is not one.
constexpr std::int64_t kLargest = std::int64_t{1} << 31;

void append_numbers(std::string& out, std::span<const std::uint64_t> numbers) {
  out.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}

// Adds the hash of all that is there.
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
  const std::uint64_t numbers[] = {kVersion,
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
          fmt::format("'{}' is damaged: {}; train the run anew with --hashes", path, what)};
}

Result<HashShape> decode_head(const std::string& head, const std::string& path) {
  if (std::memcmp(head.data(), kMagic, sizeof kMagic) != 0) {
    return damaged(path, "it does not begin as a file of hashes does");
  }
  std::uint64_t numbers[6];
  std::memcpy(numbers, head.data() + sizeof kMagic, sizeof numbers);
  if (numbers[0] != kVersion) {
    return Status(ErrorKind::kCorrupt,
                  fmt::format("'{}' is of version {}, but this program reads version {}; use the "
                              "program that wrote it",
                              path, numbers[0], kVersion));
  }
  if (!is_sealed(head)) return damaged(path, "its head was altered");
  HashShape shape;
  shape.num_envs = static_cast<std::int64_t>(numbers[2]);
  shape.num_steps = static_cast<std::int64_t>(numbers[3]);
  shape.observation_size = static_cast<std::int64_t>(numbers[4]);
  shape.action_size = static_cast<std::int64_t>(numbers[5]);
  const auto sane = [](std::int64_t extent) { return extent > 0 && extent < kLargest; };
  shape.has_critic = numbers[1] == hashed_fields(HashShape{.has_critic = true}.sizes()).size();
  if (numbers[1] != hashed_fields(shape.sizes()).size() || !sane(shape.num_envs) ||
      !sane(shape.num_steps)) {
    return damaged(path, "its head has a shape that no run has");
  }
  return shape;
}

}  // namespace

BlockSizes HashShape::sizes() const {
  return {.T = static_cast<int>(num_steps),
          .N = static_cast<int>(num_envs),
          .D = static_cast<int>(observation_size),
          .A = static_cast<int>(action_size),
          .critic = {has_critic ? 1 : 0}};
}

// Iteration, rows, columns, parameters, and the hash of all these.
std::int64_t HashShape::record_bytes() const {
  const auto fields = static_cast<std::int64_t>(hashed_fields(sizes()).size());
  return static_cast<std::int64_t>(kNumber) * (fields * (num_envs + num_steps) + 3);
}

Result<HashLog> HashLog::open(const std::string& path, const HashShape& shape,
                              std::int64_t iterations) {
  const std::int64_t keep = iterations == 0 ? 0 : kHeadBytes + iterations * shape.record_bytes();
  Result<AppendLog> opened = AppendLog::open(path, keep);
  if (!opened.ok()) return opened.status();
  HashLog log;
  log.log_ = opened.take();
  if (iterations == 0) BROADLOOM_TRY(log.log_.append(encode_head(shape)));
  log.record_.reserve(static_cast<std::size_t>(shape.record_bytes()));
  return log;
}

Status HashLog::append(std::int64_t iteration, const BlockHashes& hashes) {
  record_.clear();
  const auto number = static_cast<std::uint64_t>(iteration);
  append_numbers(record_, {&number, 1});
  append_numbers(record_, hashes.rows);
  append_numbers(record_, hashes.columns);
  append_numbers(record_, {&hashes.params, 1});
  seal(record_);
  return log_.append(record_);
}

Result<HashReader> HashReader::open(const std::string& path) {
  HashReader reader;
  reader.path_ = path;
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
  return reader;
}

Result<bool> HashReader::next() {
  cut_ = left_ > 0 && left_ < shape_.record_bytes();
  if (left_ < shape_.record_bytes()) return false;
  if (record_.empty()) {
    record_.resize(static_cast<std::size_t>(shape_.record_bytes()));
    hashes_ = BlockHashes(shape_.sizes());
  }
  if (!file_.read(record_.data(), shape_.record_bytes())) return io_error("read", path_);
  left_ -= shape_.record_bytes();
  std::uint64_t iteration = 0;
  std::memcpy(&iteration, record_.data(), kNumber);
  const std::string which = fmt::format("the record of iteration {}", iteration_ + 1);
  if (!is_sealed(record_)) return damaged(path_, which + " was altered");
  if (iteration != static_cast<std::uint64_t>(iteration_ + 1)) {
    return damaged(path_, fmt::format("where {} belongs is that of {}", which, iteration));
  }
  iteration_ += 1;
  const char* from = record_.data() + kNumber;
  const auto take = [&from](void* to, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    from += bytes;
  };
  take(hashes_.rows.data(), hashes_.rows.size() * kNumber);
  take(hashes_.columns.data(), hashes_.columns.size() * kNumber);
  take(&hashes_.params, kNumber);
  return true;
}

}  // namespace broadloom
