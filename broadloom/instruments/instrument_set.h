// The instruments of one run, handled as one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "broadloom/instruments/instrument.h"
#include "broadloom/instruments/probe_states.h"

namespace broadloom {

// Every iteration calls begin() before its update and finish() after it. If the iteration is not
// due, instruments only see every_block().
class InstrumentSet final : private UpdateObserver {
 public:
  // names: of instrument_names(); unknown ones are ignored. probe: see probe_states.h; fills in the
  // setup's views.
  InstrumentSet(const std::vector<std::string>& names, InstrumentSetup setup, ProbeStates probe);
  // Not copyable: the instruments keep views of this object's members.
  InstrumentSet(const InstrumentSet&) = delete;
  InstrumentSet& operator=(const InstrumentSet&) = delete;
  // Memory of such a set, in bytes.
  static std::size_t bytes(const std::vector<std::string>& names, const InstrumentSetup& setup);

  // Prepares for blocks of another shape: new instruments take over the accumulated state.
  // Allocates.
  void reshape(InstrumentSetup setup);

  // Returns the observer of the update; null: none. Fills in view.params_before with a copy of
  // view.params.
  UpdateObserver* begin(bool due, InstrumentView view);
  // view.params: after the update.
  void finish(InstrumentView view);

  // Whether there are numbers of the iteration of the last finish().
  bool measured() const { return measured_; }
  // Visits the numbers of all instruments.
  void visit_numbers(const NumberVisitor& visit) const;
  // State that the instruments accumulate over the run.
  void append_state(const std::string& prefix, std::vector<TensorRef>& out);

 private:
  void make(const InstrumentSetup& setup);
  void on_batch(const MinibatchReport& batch) override;
  void on_minibatch(const MinibatchReport& minibatch) override;

  std::vector<std::string> names_;
  ProbeStates probe_;
  std::vector<std::unique_ptr<Instrument>> instruments_;
  std::vector<UpdateObserver*> observers_;  // observers of the instruments that have one
  std::vector<float> params_before_;        // [P]
  bool due_ = false;
  bool measured_ = false;
};

}  // namespace broadloom
