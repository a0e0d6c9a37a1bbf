#include "broadloom/core/exchange.h"

#include <algorithm>
#include <cstring>

namespace broadloom {
namespace {

// Limits the list of pieces, which would outgrow the bytes if pieces were small.
constexpr std::size_t kMostPieces = 1 << 16;

}  // namespace

Exchange::Exchange(Ranks& ranks)
    : ranks_(ranks),
      offsets_(static_cast<std::size_t>(ranks.size()) + 1),
      next_(static_cast<std::size_t>(ranks.size())) {}

void Exchange::add(void* data, std::size_t bytes, int owner) {
  if (ranks_.size() == 1) return;
  std::byte* source = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const std::size_t now = std::min(bytes, kMostBytes - pending_);
    pieces_.push_back({source, now, owner});
    pending_ += now;
    source += now;
    bytes -= now;
    if (pending_ == kMostBytes || pieces_.size() == kMostPieces) finish();
  }
}

void Exchange::add_lines(void* data, std::size_t lines, std::size_t units, std::size_t unit_bytes,
                         std::span<const int> bounds) {
  if (ranks_.size() == 1 || unit_bytes == 0) return;
  std::byte* line = static_cast<std::byte*>(data);
  for (std::size_t l = 0; l < lines; ++l, line += units * unit_bytes) {
    for (int r = 0; r < ranks_.size(); ++r) {
      const std::size_t begin = static_cast<std::size_t>(bounds[r]);
      const std::size_t end = static_cast<std::size_t>(bounds[r + 1]);
      add(line + begin * unit_bytes, (end - begin) * unit_bytes, r);
    }
  }
}

void Exchange::finish() {
  if (pieces_.empty()) return;
  std::fill(offsets_.begin(), offsets_.end(), std::size_t{0});
  for (const Piece& piece : pieces_) offsets_[piece.owner + 1] += piece.bytes;
  for (std::size_t r = 1; r < offsets_.size(); ++r) offsets_[r] += offsets_[r - 1];
  buffer_.resize(std::max(buffer_.size(), pending_));
  copy(true);
  ranks_.share(buffer_.data(), offsets_);
  if (ranks_.status().ok()) copy(false);
  pieces_.clear();
  pending_ = 0;
}

// Copies this rank's pieces into the buffer, or the others' pieces out of it.
void Exchange::copy(bool to_buffer) {
  std::copy(offsets_.begin(), offsets_.end() - 1, next_.begin());
  for (const Piece& piece : pieces_) {
    std::byte* place = buffer_.data() + next_[piece.owner];
    next_[piece.owner] += piece.bytes;
    if ((piece.owner == ranks_.rank()) != to_buffer) continue;
    if (to_buffer) {
      std::memcpy(place, piece.data, piece.bytes);
    } else {
      std::memcpy(piece.data, place, piece.bytes);
    }
  }
}

}  // namespace broadloom
