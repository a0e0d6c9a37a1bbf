// The instrument "plasticity": whether the network can still learn.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "broadloom/instruments/instrument.h"
#include "broadloom/instruments/named_numbers.h"
#include "broadloom/instruments/network_rows.h"
#include "broadloom/instruments/plasticity/feature_spectrum.h"
#include "broadloom/instruments/plasticity/log_gradient.h"
#include "broadloom/instruments/plasticity/unit_probe.h"

namespace broadloom {

// Runs the updated network over the probe states, normalised as for the next block. Measures each
// body ("encoder" if it is shared, otherwise "actor" and "critic"):
//   ranks and size of the features, which are the outputs of its last hidden layer
//   idle units, per layer and in total
// Also measures the parameters, and the whole block's gradient at the start of the update.
//
// Numbers are under "plasticity/"; docs/instruments.md defines them. Cost: a forward pass over the
// probe, FeatureSpectrum for each body, a logarithm per parameter, and an UpdateObserver.
class PlasticityInstrument final : public Instrument, private UpdateObserver {
 public:
  static constexpr InstrumentNeeds kNeeds{.probe = true};

  explicit PlasticityInstrument(const InstrumentSetup& setup);
  static std::size_t bytes(const InstrumentSetup& setup);
  static void declare_numbers(const InfoVisitor& declare);

  void before_update(const InstrumentView&) override {}
  UpdateObserver* observer() override { return this; }
  void after_update(const InstrumentView& view) override;
  void visit_numbers(const NumberVisitor& visit) const override { numbers_.visit(visit); }

 private:
  // Measurements of a body of units_, and the places of its numbers.
  struct Body {
    const UnitProbe::Body* units;
    FeatureSpectrum spectrum;              // of its last layer
    std::vector<double> norms;             // [tiles] sums over rows of feature norms
    std::size_t features;                  // place of the first number of features
    std::vector<std::size_t> idle_layers;  // place of the first number of each layer
  };

  void on_batch(const MinibatchReport& batch) override { gradient_ = log_gradient(batch.gradient); }
  void on_minibatch(const MinibatchReport&) override {}

  void add_body(const UnitProbe::Body& units);
  std::size_t add_numbers(std::span<const NumberInfo> forms,
                          const std::vector<std::string>& values = {});
  void look_at_probe(const InstrumentView& view);
  void take_tile(int tile, std::size_t first, int count, const TileWorkspace<float>& work);
  void solve_spectra(ThreadPool& pool);
  void put_features(Body& body, double norm);
  void put_idle(std::size_t place, const IdleUnits& idle);

  int rows_;
  std::span<const float> probe_;         // [rows, D]
  std::span<const float> critic_probe_;  // the critic's own observations of the probe, or empty
  NetworkRows network_rows_;
  UnitProbe units_;
  std::vector<Body> bodies_;
  NamedNumbers numbers_;
  std::size_t idle_, parameters_;  // places of their numbers
  LogGradient gradient_;
};

}  // namespace broadloom
