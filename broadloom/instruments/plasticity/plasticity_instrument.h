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

// Runs the network as the update left it over the probe states, seen through the normaliser as the
// next block will be, and looks at each of its bodies ("encoder" where it is shared, otherwise
// "actor" and "critic"):
//   ranks and size of the features, that is of the outputs of its last hidden layer
//   units that do nothing, layer by layer and all together
// and at the parameters, and at the gradient over the whole block that the update began with.
// Numbers under "plasticity/": docs/instruments.md says what each is. Cost: a forward pass over the
// probe, FeatureSpectrum for each body, a logarithm a parameter, and what an UpdateObserver costs.
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
  // What is measured of a body of units_, and where its numbers stand.
  struct Body {
    const UnitProbe::Body* units;
    FeatureSpectrum spectrum;              // of its last layer
    std::vector<double> norms;             // [tiles] of its features, sums over rows
    std::size_t features;                  // the first of its numbers of features
    std::vector<std::size_t> idle_layers;  // likewise of each layer
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
  std::span<const float> critic_probe_;  // what only the critic reads of them, or empty
  NetworkRows network_rows_;
  UnitProbe units_;
  std::vector<Body> bodies_;
  NamedNumbers numbers_;
  std::size_t idle_, parameters_;  // places of their numbers
  LogGradient gradient_;
};

}  // namespace broadloom
