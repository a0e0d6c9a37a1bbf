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

// Every iteration calls begin() before its update and finish() after it; where the iteration is not
// due, neither does anything.
class InstrumentSet final : private UpdateObserver {
 public:
  // names: of instrument_names(); others are left out. probe: see probe_states.h; the setup's
  // are filled in here.
  InstrumentSet(const std::vector<std::string>& names, InstrumentSetup setup, ProbeStates probe);
  // The instruments keep views of what this holds.
  InstrumentSet(const InstrumentSet&) = delete;
  InstrumentSet& operator=(const InstrumentSet&) = delete;
  // What such a set holds, in bytes.
  static std::size_t bytes(const std::vector<std::string>& names, const InstrumentSetup& setup);

  // For blocks of another shape from now on: new instruments, which go on with what these have
  // added up. Allocates.
  void reshape(InstrumentSetup setup);

  // Returns what must watch the update; null: nothing need. view.params_before is filled in here,
  // with a copy of view.params.
  UpdateObserver* begin(bool due, InstrumentView view);
  // view.params: after the update.
  void finish(InstrumentView view);

  // Whether there are numbers of the iteration that finish() was last called for.
  bool measured() const { return measured_; }
  // Those of all instruments.
  void visit_numbers(const NumberVisitor& visit) const;
  // What they have added up over the run.
  void append_state(const std::string& prefix, std::vector<TensorRef>& out);

 private:
  void make(const InstrumentSetup& setup);
  void on_batch(const MinibatchReport& batch) override;
  void on_minibatch(const MinibatchReport& minibatch) override;

  std::vector<std::string> names_;
  ProbeStates probe_;
  std::vector<std::unique_ptr<Instrument>> instruments_;
  std::vector<UpdateObserver*> observers_;  // of those instruments that have one
  std::vector<float> params_before_;        // [P]
  bool due_ = false;
  bool measured_ = false;
};

}  // namespace broadloom
