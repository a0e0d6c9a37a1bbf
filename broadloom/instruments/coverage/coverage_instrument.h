// The instrument "coverage": how much of the state space the run has visited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "broadloom/instruments/coverage/state_grid.h"
#include "broadloom/instruments/instrument.h"

namespace broadloom {

// Visited share of StateGrid's cells, in per cent. A cell counts if a policy has acted in it, so
// final observations of episodes do not count.
struct CoverageNumbers {
  double run = 0.0;    // by all states so far, of every block, measured or not
  double block = 0.0;  // by the block's B states
  // By kSampleStates states of the block, spread evenly over steps and environments. The number of
  // points does not depend on B. NaN for smaller blocks.
  double sample = std::numeric_limits<double>::quiet_NaN();
  double states = 0.0;  // number of states behind `run`

  template <class Visitor>
  void visit(Visitor&& v) const;
};

// Reads every block, not only measured ones, so `run` is exact; it is part of checkpoints. Cost per
// state: D multiplications with one axis, 2 D with two, D comparisons for one-hot states.
class CoverageInstrument final : public Instrument {
 public:
  static constexpr InstrumentNeeds kNeeds{.probe = true};
  static constexpr int kSampleStates = 512;

  explicit CoverageInstrument(const InstrumentSetup& setup);
  static std::size_t bytes(const InstrumentSetup& setup);
  static void declare_numbers(const InfoVisitor& declare) {
    declare_numbers_of<CoverageNumbers>(declare);
  }

  void every_block(const InstrumentView& view) override;
  void before_update(const InstrumentView& view) override;
  void after_update(const InstrumentView&) override {}
  void visit_numbers(const NumberVisitor& visit) const override { numbers_.visit(visit); }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override;

 private:
  double percent(const std::vector<std::uint8_t>& cells) const;
  double sample_percent(const RolloutBlock& block);
  std::int32_t cell_of(const RolloutBlock& block, std::size_t row, int thread);

  StateGrid grid_;
  std::vector<std::uint8_t> run_, block_, sample_;  // [cells] 1 if visited
  std::vector<float> scratch_;  // [threads, D] one state per thread; empty if states are float32
  std::int64_t states_ = 0;
  CoverageNumbers numbers_;
};

template <class Visitor>
void CoverageNumbers::visit(Visitor&& v) const {
  v(NumberInfo{"coverage/run", "Cells visited by the run", "%"}, run);
  v(NumberInfo{"coverage/block", "Cells visited by the block", "%"}, block);
  v(NumberInfo{"coverage/sample", "Cells visited by 512 states", "%"}, sample);
  v(NumberInfo{"coverage/states", "States that coverage is about"}, states);
}

}  // namespace broadloom
