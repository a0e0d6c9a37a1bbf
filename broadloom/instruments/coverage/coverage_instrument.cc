#include "broadloom/instruments/coverage/coverage_instrument.h"

#include <algorithm>
#include <atomic>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

constexpr std::size_t kChunk = 2048;
constexpr std::uint64_t kSampleSeed = 0x73616d706c65ull;  // same rows of every block

// Several threads may mark the same cell; their order makes no difference.
void mark(std::uint8_t& cell) {
  const std::atomic_ref<std::uint8_t> place(cell);
  if (place.load(std::memory_order_relaxed) == 0) place.store(1, std::memory_order_relaxed);
}

// Row i of `samples` rows out of `count` >= samples. Each of `samples` equal runs of rows gives one
// row at a random position. Environments are thus sampled evenly, whatever divisors N has.
std::size_t sample_row(std::size_t i, std::size_t samples, std::size_t count) {
  const std::size_t begin = i * count / samples, end = (i + 1) * count / samples;
  Random random(kSampleSeed, Purpose::kInstruments, 0, i);
  return begin + random.below(static_cast<std::uint32_t>(end - begin));
}

std::size_t cells_of(const InstrumentSetup& setup) {
  return static_cast<std::size_t>(StateGrid::cells(setup.observation_kind, setup.observation_size));
}

std::size_t scratch_of(const InstrumentSetup& setup) {
  return static_cast<std::size_t>(setup.threads) * setup.observation_size;
}

}  // namespace

CoverageInstrument::CoverageInstrument(const InstrumentSetup& setup)
    : grid_(setup.observation_kind, setup.observation_size, setup.probe),
      run_(cells_of(setup)),
      block_(cells_of(setup)),
      sample_(cells_of(setup)),
      scratch_(scratch_of(setup)) {}

std::size_t CoverageInstrument::bytes(const InstrumentSetup& setup) {
  const std::size_t axes =
      static_cast<std::size_t>(StateGrid::axes(setup.observation_kind, setup.observation_size));
  return sizeof(CoverageInstrument) + scratch_of(setup) * sizeof(float) + 3 * cells_of(setup) +
         2 * (axes + 1) * setup.observation_size * sizeof(double);
}

void CoverageInstrument::every_block(const InstrumentView& view) {
  const RolloutBlock& block = view.block;
  grid_.look_through(view.obs_normalizer);
  std::fill(block_.begin(), block_.end(), std::uint8_t{0});
  const std::size_t chunks = (block.size() + kChunk - 1) / kChunk;
  view.pool.run(static_cast<int>(chunks), [&](int chunk, int thread) {
    const std::size_t begin = static_cast<std::size_t>(chunk) * kChunk;
    const std::size_t end = std::min(begin + kChunk, block.size());
    for (std::size_t i = begin; i < end; ++i) {
      mark(block_[cell_of(block, i, thread)]);
    }
  });
  for (std::size_t c = 0; c < run_.size(); ++c) run_[c] |= block_[c];
  states_ += static_cast<std::int64_t>(block.size());
}

void CoverageInstrument::before_update(const InstrumentView& view) {
  numbers_.run = percent(run_);
  numbers_.block = percent(block_);
  numbers_.sample = sample_percent(view.block);
  numbers_.states = static_cast<double>(states_);
}

std::int32_t CoverageInstrument::cell_of(const RolloutBlock& block, std::size_t row, int thread) {
  float* scratch = &scratch_[static_cast<std::size_t>(thread) * block.D];
  return grid_.cell(block.observations.view(row, 1, scratch));
}

double CoverageInstrument::percent(const std::vector<std::uint8_t>& cells) const {
  const auto visited = std::count(cells.begin(), cells.end(), std::uint8_t{1});
  return 100.0 * static_cast<double>(visited) / static_cast<double>(cells.size());
}

double CoverageInstrument::sample_percent(const RolloutBlock& block) {
  if (block.size() < kSampleStates) return std::numeric_limits<double>::quiet_NaN();
  std::fill(sample_.begin(), sample_.end(), std::uint8_t{0});
  for (std::size_t i = 0; i < kSampleStates; ++i) {
    const std::size_t row = sample_row(i, kSampleStates, block.size());
    sample_[cell_of(block, row, 0)] = 1;
  }
  return percent(sample_);
}

void CoverageInstrument::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(run_.size())};
  out.push_back({prefix + ".coverage.cells", Dtype::kU8, shape, run_.data(), {{0.0, 1.0}}});
  out.push_back({prefix + ".coverage.states", Dtype::kI64, {1}, &states_, {kCountRange}});
}

}  // namespace broadloom
