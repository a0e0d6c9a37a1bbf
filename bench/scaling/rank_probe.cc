// What it takes ranks to exchange messages of several sizes, over the transport that training uses:
// the numbers of a network that model.py wants.
//
//     mpirun -n 2 rank_probe
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "bridges/bridges.h"
#include "broadloom/core/ranks.h"

namespace broadloom {
namespace {

// Two of them on both sides of 64 KB, from which on MPI asks before it sends over TCP.
constexpr std::size_t kMessages[] = {8,        1 << 10,   16 << 10, 60 << 10,
                                     80 << 10, 256 << 10, 1 << 20,  4 << 20};
constexpr double kSeconds = 0.3;  // of a repeat
constexpr int kRepeats = 5;

double seconds_of(Ranks& ranks, std::vector<std::byte>& buffer,
                  const std::vector<std::size_t>& offsets, int times) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) ranks.share(buffer.data(), offsets);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Seconds of one exchange in which each rank has so many bytes for each other: the median of
// repeats.
double exchange_seconds(Ranks& ranks, std::size_t message) {
  std::vector<std::byte> buffer(message * static_cast<std::size_t>(ranks.size()));
  std::vector<std::size_t> offsets;
  for (int r = 0; r <= ranks.size(); ++r) offsets.push_back(static_cast<std::size_t>(r) * message);
  seconds_of(ranks, buffer, offsets, 3);  // connections are made by the first ones
  // All make the same number of them: as the first one says.
  const double once = ranks.all_of(seconds_of(ranks, buffer, offsets, 3) / 3).front();
  const int times = std::clamp(static_cast<int>(kSeconds / once), 3, 20000);
  std::vector<double> repeats;
  for (int i = 0; i < kRepeats; ++i) {
    repeats.push_back(seconds_of(ranks, buffer, offsets, times) / times);
  }
  std::sort(repeats.begin(), repeats.end());
  return repeats[kRepeats / 2];
}

int probe() {
  const Result<std::unique_ptr<Ranks>> made = make_ranks({});
  if (!made.ok()) {
    fmt::print(stderr, "rank_probe: {}\n", made.status().message());
    return static_cast<int>(made.status().kind());
  }
  Ranks& ranks = *made.value();
  if (ranks.size() < 2) {
    fmt::print(stderr, "rank_probe: got one rank, expected several: mpirun -n 2 rank_probe\n");
    return 2;
  }
  if (ranks.is_first()) fmt::print("ranks,message_bytes,seconds\n");
  for (const std::size_t message : kMessages) {
    const double seconds = exchange_seconds(ranks, message);
    if (ranks.is_first()) fmt::print("{},{},{:.4g}\n", ranks.size(), message, seconds);
  }
  return static_cast<int>(ranks.status().kind());
}

}  // namespace
}  // namespace broadloom

int main() { return broadloom::probe(); }
