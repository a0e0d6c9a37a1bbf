#include "broadloom/math/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "broadloom/core/threads.h"
#include "broadloom/math/targets.h"

#ifndef HWY_TARGET_INCLUDE  // defined already where one unit includes several kernel files
#define HWY_TARGET_INCLUDE "broadloom/math/peak.cc"
#endif
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve chains hide the latency of two units that take four to five cycles each. They leave room
// for the two constants among AVX2's sixteen registers. Each chain tends to 1, so no number becomes
// a slow denormal.
//
// io [14]: twelve first values, factor, summand, all unknown to the compiler. io[0] receives the
// mean of the results, so that no chain can be optimised away. Returns the number of operations.
double MultiplyAddF32(std::int64_t rounds, float* io) {
  const hn::ScalableTag<float> d;
  const auto keep = hn::Set(d, io[12]);
  const auto add = hn::Set(d, io[13]);
  auto x0 = hn::Set(d, io[0]), x1 = hn::Set(d, io[1]), x2 = hn::Set(d, io[2]);
  auto x3 = hn::Set(d, io[3]), x4 = hn::Set(d, io[4]), x5 = hn::Set(d, io[5]);
  auto x6 = hn::Set(d, io[6]), x7 = hn::Set(d, io[7]), x8 = hn::Set(d, io[8]);
  auto x9 = hn::Set(d, io[9]), x10 = hn::Set(d, io[10]), x11 = hn::Set(d, io[11]);
  for (std::int64_t round = 0; round < rounds; ++round) {
    x0 = hn::MulAdd(x0, keep, add);
    x1 = hn::MulAdd(x1, keep, add);
    x2 = hn::MulAdd(x2, keep, add);
    x3 = hn::MulAdd(x3, keep, add);
    x4 = hn::MulAdd(x4, keep, add);
    x5 = hn::MulAdd(x5, keep, add);
    x6 = hn::MulAdd(x6, keep, add);
    x7 = hn::MulAdd(x7, keep, add);
    x8 = hn::MulAdd(x8, keep, add);
    x9 = hn::MulAdd(x9, keep, add);
    x10 = hn::MulAdd(x10, keep, add);
    x11 = hn::MulAdd(x11, keep, add);
  }
  const auto low = ((x0 + x1) + (x2 + x3)) + (x4 + x5);
  const auto high = ((x6 + x7) + (x8 + x9)) + (x10 + x11);
  io[0] = hn::GetLane(low + high) / 12.0f;
  return 2.0 * 12.0 * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(MultiplyAddF32);

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBursts = 8;
constexpr double kBurstSeconds = 0.005;

struct Burst {
  Clock::time_point begin, end;
  double operations = 0.0;
};

Burst run_burst(std::int64_t rounds) {
  float chains[14] = {0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1.0f,   1.1f,
                      1.2f, 1.3f, 1.4f, 1.5f, 1.6f, 0.999f, 0.001f};
  Burst burst;
  burst.begin = Clock::now();
  burst.operations = HWY_DYNAMIC_DISPATCH(MultiplyAddF32)(rounds, chains);
  burst.end = Clock::now();
  volatile float sink = chains[0];
  static_cast<void>(sink);
  return burst;
}

double seconds_of(Clock::duration span) { return std::chrono::duration<double>(span).count(); }

// Also raises the processor to the clock rate of its wide units.
std::int64_t calibrate_rounds() {
  std::int64_t rounds = 1000;
  while (true) {
    const Burst burst = run_burst(rounds);
    if (seconds_of(burst.end - burst.begin) >= kBurstSeconds) return rounds;
    rounds *= 2;
  }
}

// All threads begin together. The span runs from the first begin to the last end.
double flops_together(int threads, std::int64_t rounds) {
  std::vector<Burst> bursts(static_cast<std::size_t>(threads));
  std::atomic<int> waiting{threads};
  const auto work = [&](Burst& burst) {
    waiting.fetch_sub(1);
    while (waiting.load() > 0) std::this_thread::yield();
    burst = run_burst(rounds);
  };
  Threads workers;
  int started = 1;
  while (started < threads &&
         workers.start([&work, &burst = bursts[started]] { work(burst); }).ok()) {
    ++started;
  }
  waiting.fetch_sub(threads - started);  // nobody waits for those that the machine refuses
  work(bursts[0]);
  workers.join();
  Burst all = bursts[0];
  for (int i = 1; i < started; ++i) {
    all.begin = std::min(all.begin, bursts[i].begin);
    all.end = std::max(all.end, bursts[i].end);
    all.operations += bursts[i].operations;
  }
  return all.operations / seconds_of(all.end - all.begin);
}

}  // namespace

double measure_peak_flops(int threads) {
  const std::int64_t rounds = calibrate_rounds();
  double best = 0.0;
  for (int i = 0; i < kBursts; ++i) best = std::max(best, flops_together(threads, rounds));
  return best;
}

}  // namespace broadloom
#endif  // HWY_ONCE
