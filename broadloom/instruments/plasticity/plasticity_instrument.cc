#include "broadloom/instruments/plasticity/plasticity_instrument.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "broadloom/instruments/plasticity/ranks.h"
#include "broadloom/instruments/probe_states.h"
#include "broadloom/math/elementwise.h"

namespace broadloom {
namespace {

// In the order in which put_features(), put_idle() and after_update() set them.
constexpr NumberInfo kAllIdle[] = {
    {"plasticity/dormant", "Dormant units", "%"},
    {"plasticity/tau_dormant", "Units dormant at tau", "%"},
    {"plasticity/silent", "Silent units", "%"},
    {"plasticity/constant", "Constant units", "%"},
};
constexpr NumberInfo kParameters[] = {
    {"plasticity/weight_norm", "Norm of all parameters"},
    {"plasticity/grad_kurtosis", "Kurtosis of log gradient sizes"},
    {"plasticity/grad_zeros", "Gradient entries that are 0", "%"},
};
constexpr NumberInfo kFeatures[] = {
    {"plasticity/<body>_approximate_rank", "Approximate rank of features, <body>"},
    {"plasticity/<body>_effective_rank", "Effective rank of features, <body>"},
    {"plasticity/<body>_srank", "srank of features, <body>"},
    {"plasticity/<body>_feature_rank", "Feature rank, <body>"},
    {"plasticity/<body>_numeric_rank", "Numeric rank of features, <body>"},
    {"plasticity/<body>_feature_norm", "Size of features, <body>"},
};
constexpr NumberInfo kLayerIdle[] = {
    {"plasticity/<body>_layer<l>_dormant", "Dormant units, <body>, layer <l>", "%"},
    {"plasticity/<body>_layer<l>_tau_dormant", "Units dormant at tau, <body>, layer <l>", "%"},
    {"plasticity/<body>_layer<l>_silent", "Silent units, <body>, layer <l>", "%"},
    {"plasticity/<body>_layer<l>_constant", "Constant units, <body>, layer <l>", "%"},
};

}  // namespace

PlasticityInstrument::PlasticityInstrument(const InstrumentSetup& setup)
    : rows_(probe_rows(setup)),
      probe_(setup.probe),
      critic_probe_(setup.critic_probe),
      network_rows_(setup.network, setup.threads),
      units_(setup.network, rows_),
      idle_(add_numbers(kAllIdle)),
      parameters_(add_numbers(kParameters)) {
  for (const UnitProbe::Body& body : units_.bodies()) add_body(body);
}

std::size_t PlasticityInstrument::bytes(const InstrumentSetup& setup) {
  const int rows = probe_rows(setup);
  std::size_t sum =
      NetworkRows::bytes(setup.network, setup.threads) + UnitProbe::bytes(setup.network, rows);
  for (const Chain* chain : setup.network.chains()) {
    if (!chain->empty()) sum += FeatureSpectrum::bytes(rows, chain->layers().back().out.size());
  }
  return sum;
}

void PlasticityInstrument::declare_numbers(const InfoVisitor& declare) {
  for (const NumberInfo& info : kAllIdle) declare(info);
  for (const NumberInfo& info : kParameters) declare(info);
  for (const NumberInfo& info : kFeatures) declare(info);
  for (const NumberInfo& info : kLayerIdle) declare(info);
}

void PlasticityInstrument::add_body(const UnitProbe::Body& units) {
  const std::size_t features = add_numbers(kFeatures, {units.name});
  std::vector<std::size_t> idle_layers;
  for (std::size_t l = 0; l < units.layers.size(); ++l) {
    idle_layers.push_back(add_numbers(kLayerIdle, {units.name, std::to_string(l + 1)}));
  }
  const std::size_t tiles =
      static_cast<std::size_t>(NetworkRows::tiles(static_cast<std::size_t>(rows_)));
  bodies_.push_back({&units, FeatureSpectrum(rows_, units.chain->layers().back().out.size()),
                     std::vector<double>(tiles), features, std::move(idle_layers)});
}

// Returns the place of the first number added.
std::size_t PlasticityInstrument::add_numbers(std::span<const NumberInfo> forms,
                                              const std::vector<std::string>& values) {
  const std::size_t first = numbers_.size();
  for (const NumberInfo& form : forms) numbers_.add({form, values});
  return first;
}

void PlasticityInstrument::after_update(const InstrumentView& view) {
  look_at_probe(view);
  solve_spectra(view.pool);
  units_.finish();
  for (Body& body : bodies_) {
    double norms = 0.0;
    for (const double tile : body.norms) norms += tile;
    put_features(body, norms / rows_);
    for (std::size_t l = 0; l < body.idle_layers.size(); ++l) {
      put_idle(body.idle_layers[l], units_.idle(*body.units, l));
    }
  }
  put_idle(idle_, units_.idle());
  numbers_.set(parameters_, std::sqrt(sum_squares(view.params.data(), view.params.size())));
  numbers_.set(parameters_ + 1, gradient_.kurtosis);
  numbers_.set(parameters_ + 2, gradient_.zeros);
}

void PlasticityInstrument::look_at_probe(const InstrumentView& view) {
  NetworkRows::over_tiles(
      static_cast<std::size_t>(rows_), view.pool,
      [&](int tile, std::size_t first, int count, int thread) {
        take_tile(
            tile, first, count,
            network_rows_.forward(thread, view.params.data(), view.obs_normalizer,
                                  probe_from(probe_, critic_probe_, first, view.network.shape()),
                                  count, NetworkSide::kBoth, view.critic_normalizer));
      });
}

void PlasticityInstrument::take_tile(int tile, std::size_t first, int count,
                                     const TileWorkspace<float>& work) {
  units_.take(tile, count, work);
  for (Body& body : bodies_) {
    const std::size_t width = static_cast<std::size_t>(body.spectrum.columns());
    const float* features = body.units->features(work);
    body.spectrum.set_rows(first, count, features);
    body.norms[tile] = 0.0;
    for (int r = 0; r < count; ++r) {
      body.norms[tile] += std::sqrt(sum_squares(features + r * width, width));
    }
  }
}

void PlasticityInstrument::solve_spectra(ThreadPool& pool) {
  for (Body& body : bodies_) {
    pool.run(body.spectrum.multiply_tasks(), [&](int task) { body.spectrum.multiply(task); });
  }
  pool.run(static_cast<int>(bodies_.size()), [&](int b) { bodies_[b].spectrum.solve(); });
}

void PlasticityInstrument::put_features(Body& body, double norm) {
  const FeatureRanks ranks =
      feature_ranks(body.spectrum.singular_values(), rows_, body.spectrum.columns());
  std::size_t place = body.features;
  for (const double number : {ranks.approximate_rank, ranks.effective_rank, ranks.srank,
                              ranks.feature_rank, ranks.numeric_rank, norm}) {
    numbers_.set(place++, number);
  }
}

void PlasticityInstrument::put_idle(std::size_t place, const IdleUnits& idle) {
  for (const int count : {idle.dormant, idle.tau_dormant, idle.silent, idle.constant}) {
    numbers_.set(place++, idle.percent(count));
  }
}

}  // namespace broadloom
