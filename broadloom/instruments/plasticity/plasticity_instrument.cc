#include "broadloom/instruments/plasticity/plasticity_instrument.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "broadloom/instruments/plasticity/ranks.h"
#include "broadloom/instruments/probe_states.h"
#include "broadloom/math/elementwise.h"

namespace broadloom {
namespace {

constexpr const char* kPrefix = "plasticity/";

std::size_t units_of(const Mlp& mlp) {
  std::size_t units = 0;
  for (const LinearSlice& layer : mlp.layers()) units += static_cast<std::size_t>(layer.out);
  return units;
}

}  // namespace

PlasticityInstrument::PlasticityInstrument(const InstrumentSetup& setup)
    : rows_(probe_rows(setup)),
      probe_(setup.probe),
      network_rows_(setup.network, setup.threads),
      idle_(add_idle_names(kPrefix)),
      parameters_(numbers_.add(std::string(kPrefix) + "weight_norm")) {
  numbers_.add(std::string(kPrefix) + "grad_kurtosis");
  numbers_.add(std::string(kPrefix) + "grad_zeros");
  const ActorCritic& network = setup.network;
  bodies_.reserve(3);
  add_body("encoder", network.encoder(), &TileWorkspace<float>::encoder);
  add_body("actor", network.actor(), &TileWorkspace<float>::actor);
  add_body("critic", network.critic(), &TileWorkspace<float>::critic);
  const std::size_t units =
      bodies_.empty() ? 0 : bodies_.back().first_unit + units_of(*bodies_.back().mlp);
  for (int t = 0; t < NetworkRows::tiles(static_cast<std::size_t>(rows_)); ++t) {
    tiles_.push_back({std::vector<UnitSums>(units), std::vector<double>(bodies_.size())});
  }
}

std::size_t PlasticityInstrument::bytes(const InstrumentSetup& setup) {
  const int rows = probe_rows(setup);
  std::size_t sum = NetworkRows::bytes(setup.network, setup.threads);
  for (const Mlp* mlp :
       {&setup.network.encoder(), &setup.network.actor(), &setup.network.critic()}) {
    if (mlp->empty()) continue;
    sum += FeatureSpectrum::bytes(rows, mlp->layers().back().out) +
           NetworkRows::tiles(static_cast<std::size_t>(rows)) * units_of(*mlp) * sizeof(UnitSums);
  }
  return sum;
}

// The order in which names are added is that in which put_features() and put_idle() set values.
void PlasticityInstrument::add_body(const char* name, const Mlp& mlp,
                                    std::vector<float> TileWorkspace<float>::*outputs) {
  if (mlp.empty()) return;
  const std::size_t first_unit =
      bodies_.empty() ? 0 : bodies_.back().first_unit + units_of(*bodies_.back().mlp);
  const std::string prefix = std::string(kPrefix) + name + "_";
  const std::size_t features = numbers_.add(prefix + "approximate_rank");
  for (const char* number :
       {"effective_rank", "srank", "feature_rank", "numeric_rank", "feature_norm"}) {
    numbers_.add(prefix + number);
  }
  std::vector<std::size_t> idle_layers;
  for (std::size_t l = 0; l < mlp.layers().size(); ++l) {
    idle_layers.push_back(add_idle_names(prefix + "layer" + std::to_string(l + 1) + "_"));
  }
  bodies_.push_back({&mlp, outputs, first_unit, FeatureSpectrum(rows_, mlp.layers().back().out),
                     features, std::move(idle_layers)});
}

std::size_t PlasticityInstrument::add_idle_names(const std::string& prefix) {
  const std::size_t place = numbers_.add(prefix + "dormant");
  for (const char* number : {"tau_dormant", "silent", "constant"}) numbers_.add(prefix + number);
  return place;
}

void PlasticityInstrument::after_update(const InstrumentView& view) {
  look_at_probe(view);
  solve_spectra(view.pool);
  IdleUnits idle;
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    double norms = 0.0;
    for (const Tile& tile : tiles_) norms += tile.feature_norms[b];
    put_features(bodies_[b], norms / rows_);
    idle.add(put_layers(bodies_[b]));
  }
  put_idle(idle_, idle);
  numbers_.set(parameters_, std::sqrt(sum_squares(view.params.data(), view.params.size())));
  numbers_.set(parameters_ + 1, gradient_.kurtosis);
  numbers_.set(parameters_ + 2, gradient_.zeros);
}

void PlasticityInstrument::look_at_probe(const InstrumentView& view) {
  const std::size_t size = static_cast<std::size_t>(view.block.D);
  NetworkRows::over_tiles(
      static_cast<std::size_t>(rows_), view.pool,
      [&](int tile, std::size_t first, int count, int thread) {
        take_tile(first, count,
                  network_rows_.forward(thread, view.params.data(), view.bf16_weights,
                                        view.obs_normalizer, probe_.data() + first * size, count),
                  tiles_[tile]);
      });
}

// Every tile has sums of its own, so that they are added in an order that threads cannot change.
void PlasticityInstrument::take_tile(std::size_t first, int count, const TileWorkspace<float>& work,
                                     Tile& tile) {
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    Body& body = bodies_[b];
    const float* outputs = (work.*body.outputs).data();
    UnitSums* units = &tile.units[body.first_unit];
    for (std::size_t l = 0; l < body.mlp->layers().size(); ++l) {
      const std::size_t width = static_cast<std::size_t>(body.mlp->layers()[l].out);
      const float* h = outputs + body.mlp->output_offset(l);
      std::fill_n(units, width, UnitSums());
      for (int r = 0; r < count; ++r) {
        for (std::size_t u = 0; u < width; ++u) units[u].add(h[r * width + u]);
      }
      units += width;
    }
    const std::size_t width = static_cast<std::size_t>(body.spectrum.columns());
    const float* features = outputs + body.mlp->output_offset(body.mlp->layers().size() - 1);
    body.spectrum.set_rows(first, count, features);
    tile.feature_norms[b] = 0.0;
    for (int r = 0; r < count; ++r) {
      tile.feature_norms[b] += std::sqrt(sum_squares(features + r * width, width));
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

// The first tile takes up the sums of the others.
IdleUnits PlasticityInstrument::put_layers(const Body& body) {
  IdleUnits all;
  std::size_t unit = body.first_unit;
  for (std::size_t l = 0; l < body.idle_layers.size(); ++l) {
    const std::size_t end = unit + static_cast<std::size_t>(body.mlp->layers()[l].out);
    std::vector<UnitSums>& sums = tiles_[0].units;
    for (std::size_t t = 1; t < tiles_.size(); ++t) {
      for (std::size_t u = unit; u < end; ++u) sums[u].add(tiles_[t].units[u]);
    }
    const IdleUnits idle = count_idle({sums.data() + unit, end - unit}, rows_);
    put_idle(body.idle_layers[l], idle);
    all.add(idle);
    unit = end;
  }
  return all;
}

}  // namespace broadloom
