#include "broadloom/instruments/plasticity/unit_probe.h"

#include <algorithm>

#include "broadloom/instruments/network_rows.h"

namespace broadloom {
namespace {

std::size_t units_of(const Mlp& mlp) {
  std::size_t units = 0;
  for (const LinearSlice& layer : mlp.layers()) units += static_cast<std::size_t>(layer.out);
  return units;
}

std::size_t units_of(const ActorCritic& network) {
  return units_of(network.encoder()) + units_of(network.actor()) + units_of(network.critic());
}

}  // namespace

UnitProbe::UnitProbe(const ActorCritic& network, int rows)
    : rows_(rows),
      tiles_(static_cast<std::size_t>(NetworkRows::tiles(static_cast<std::size_t>(rows))),
             std::vector<UnitSums>(units_of(network))) {
  using Work = TileWorkspace<float>;
  std::size_t first_unit = 0;
  for (const Body& body : {Body{"encoder", &network.encoder(), &Work::encoder, 0},
                           Body{"actor", &network.actor(), &Work::actor, 0},
                           Body{"critic", &network.critic(), &Work::critic, 0}}) {
    if (body.mlp->empty()) continue;
    bodies_.push_back(body);
    bodies_.back().first_unit = first_unit;
    first_unit += units_of(*body.mlp);
  }
}

std::size_t UnitProbe::bytes(const ActorCritic& network, int rows) {
  return static_cast<std::size_t>(NetworkRows::tiles(static_cast<std::size_t>(rows))) *
         units_of(network) * sizeof(UnitSums);
}

void UnitProbe::take(int tile, int count, const TileWorkspace<float>& work) {
  for (const Body& body : bodies_) {
    const float* outputs = (work.*body.outputs).data();
    UnitSums* units = &tiles_[tile][body.first_unit];
    for (std::size_t l = 0; l < body.mlp->layers().size(); ++l) {
      const std::size_t width = static_cast<std::size_t>(body.mlp->layers()[l].out);
      const float* h = outputs + body.mlp->output_offset(l);
      std::fill_n(units, width, UnitSums());
      for (int r = 0; r < count; ++r) {
        for (std::size_t u = 0; u < width; ++u) units[u].add(h[r * width + u]);
      }
      units += width;
    }
  }
}

// The first tile takes up the sums of the others.
void UnitProbe::finish() {
  std::vector<UnitSums>& sums = tiles_[0];
  for (std::size_t t = 1; t < tiles_.size(); ++t) {
    for (std::size_t u = 0; u < sums.size(); ++u) sums[u].add(tiles_[t][u]);
  }
}

IdleUnits UnitProbe::idle(const Body& body, std::size_t layer) const {
  std::size_t first = body.first_unit;
  const std::vector<LinearSlice>& layers = body.mlp->layers();
  for (std::size_t l = 0; l < layer; ++l) first += static_cast<std::size_t>(layers[l].out);
  return count_idle({tiles_[0].data() + first, static_cast<std::size_t>(layers[layer].out)}, rows_);
}

IdleUnits UnitProbe::idle() const {
  IdleUnits all;
  for (const Body& body : bodies_) {
    for (std::size_t l = 0; l < body.mlp->layers().size(); ++l) all.add(idle(body, l));
  }
  return all;
}

}  // namespace broadloom
