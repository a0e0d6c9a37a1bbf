#include "broadloom/core/ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace broadloom {
namespace {

class Alone final : public Ranks {
 public:
  Alone() : Ranks(0, 1) {}

 private:
  Status do_share(std::byte*, std::span<const std::size_t>) override { return {}; }
  Status do_deal(const std::byte*, std::span<const std::size_t>, std::byte*,
                 std::span<const std::size_t>) override {
    return {};
  }
};

// A rank's message in agree().
struct Word {
  std::uint64_t order, fingerprint;
  std::uint32_t message_bytes;
  std::int32_t kind;
};

}  // namespace

Ranks& Ranks::alone() {
  static Alone ranks;
  return ranks;
}

void Ranks::share(std::byte* buffer, std::span<const std::size_t> offsets) {
  if (size_ == 1 || !status_.ok() || offsets.back() == 0) return;
  const auto begin = std::chrono::steady_clock::now();
  status_ = do_share(buffer, offsets);
  count(offsets, begin);
}

void Ranks::deal(const std::byte* out, std::span<const std::size_t> out_offsets, std::byte* in,
                 std::span<const std::size_t> in_offsets) {
  if (!status_.ok()) return;
  const auto begin = std::chrono::steady_clock::now();
  status_ = do_deal(out, out_offsets, in, in_offsets);
  count(in_offsets, begin);
}

void Ranks::count(std::span<const std::size_t> offsets,
                  std::chrono::steady_clock::time_point begin) {
  const std::size_t own = offsets[static_cast<std::size_t>(rank_) + 1] - offsets[rank_];
  traffic_.received_bytes += static_cast<std::int64_t>(offsets.back() - own);
  ++traffic_.exchanges;
  traffic_.seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Ranks::share_equal(std::byte* all, std::size_t bytes) {
  if (size_ == 1) return;
  std::vector<std::size_t> offsets;
  for (int r = 0; r <= size_; ++r) offsets.push_back(static_cast<std::size_t>(r) * bytes);
  share(all, offsets);
}

std::string Ranks::of_first(std::string text) {
  if (size_ == 1) return text;
  text.resize(all_of(text.size()).front());
  std::vector<std::size_t> offsets(static_cast<std::size_t>(size_) + 1, text.size());
  offsets.front() = 0;
  share(reinterpret_cast<std::byte*>(text.data()), offsets);
  return text;
}

Status Ranks::agree(const Status& mine, std::uint64_t order, std::uint64_t fingerprint) {
  if (size_ == 1) return mine;
  const Word word{order, fingerprint, static_cast<std::uint32_t>(mine.message().size()),
                  static_cast<std::int32_t>(mine.kind())};
  const std::vector<Word> words = all_of(word);
  if (!status_.ok()) return mine.ok() ? status_ : mine;
  const Word* first = nullptr;
  for (const Word& other : words) {
    if (other.kind == 0) continue;
    if (first == nullptr || other.order < first->order) first = &other;
  }
  if (first != nullptr) {
    std::string message = mine.message();
    message.resize(first->message_bytes);
    std::vector<std::size_t> offsets(static_cast<std::size_t>(size_) + 1, message.size());
    std::fill_n(offsets.begin(), first - words.data() + 1, std::size_t{0});
    share(reinterpret_cast<std::byte*>(message.data()), offsets);
    if (!status_.ok()) return mine.ok() ? status_ : mine;
    return {static_cast<ErrorKind>(first->kind), std::move(message)};
  }
  for (int r = 1; r < size_; ++r) {
    if (words[r].fingerprint == words[0].fingerprint) continue;
    return {ErrorKind::kMismatch,
            fmt::format("rank {} of {} does not have the parameters that rank 0 has (hash {:016x}, "
                        "expected {:016x}): a fault of its machine, or a program that does not "
                        "keep its bits. Look at that machine, and go on from the newest checkpoint "
                        "without it",
                        r, size_, words[r].fingerprint, words[0].fingerprint)};
  }
  return {};
}

bool Ranks::any(bool mine) {
  if (size_ == 1) return mine;
  const std::vector<unsigned char> all = all_of(static_cast<unsigned char>(mine ? 1 : 0));
  return std::find(all.begin(), all.end(), 1) != all.end();
}

}  // namespace broadloom
