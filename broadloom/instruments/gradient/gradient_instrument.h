// The instrument "gradient": statistics of the gradient during an iteration.
#pragma once

#include <cstddef>

#include "broadloom/instruments/gradient/sample_probe.h"
#include "broadloom/instruments/gradient/update_probe.h"
#include "broadloom/instruments/instrument.h"

namespace broadloom {

// Two parts, each with its own memory and numbers, under "grad/":
//   SampleProbe   dependence between the gradients of single samples of the block
//   UpdateProbe   minibatches against the whole block, and the drift over the epochs; ratios are
//                 NaN for algorithms without them
class GradientInstrument final : public Instrument {
 public:
  static constexpr InstrumentNeeds kNeeds{.policy = true, .one_value = true, .one_policy = true};

  explicit GradientInstrument(const InstrumentSetup& setup)
      : samples_(setup), probe_(setup.network.parameter_count()) {}
  static std::size_t bytes(const InstrumentSetup& setup) {
    return SampleProbe::bytes(setup) + UpdateProbe::bytes(setup.network.parameter_count());
  }
  static void declare_numbers(const InfoVisitor& declare) {
    declare_numbers_of<SampleNumbers>(declare);
    declare_numbers_of<UpdateNumbers>(declare);
  }

  void before_update(const InstrumentView& view) override { sample_ = samples_.measure(view); }
  UpdateObserver* observer() override { return &probe_; }
  void after_update(const InstrumentView& view) override {
    update_ = probe_.numbers(view.params_before, view.params);
  }
  void visit_numbers(const NumberVisitor& visit) const override {
    sample_.visit(visit);
    update_.visit(visit);
  }

 private:
  SampleProbe samples_;
  SampleNumbers sample_;
  UpdateProbe probe_;
  UpdateNumbers update_;
};

}  // namespace broadloom
