#include "broadloom/instruments/plasticity/unit_probe.h"

#include <algorithm>
#include <utility>

#include "broadloom/instruments/network_rows.h"

namespace broadloom {
namespace {

// Units of a layer. A unit of a convolution is a filter, with one output per pixel of its image.
std::size_t units_of(const Layer& layer) {
  return static_cast<std::size_t>(layer.has_units() ? layer.out.channels : 0);
}
std::size_t outputs_of_unit(const Layer& layer) {
  return static_cast<std::size_t>(layer.out.height) * static_cast<std::size_t>(layer.out.width);
}

std::size_t units_of(const ActorCritic& network) {
  std::size_t units = 0;
  for (const Chain* chain : network.chains()) {
    for (const Layer& layer : chain->layers()) units += units_of(layer);
  }
  return units;
}

}  // namespace

UnitProbe::UnitProbe(const ActorCritic& network, int rows)
    : rows_(rows),
      tiles_(static_cast<std::size_t>(NetworkRows::tiles(static_cast<std::size_t>(rows))),
             std::vector<UnitSums>(units_of(network))) {
  using Work = TileWorkspace<float>;
  std::size_t first_unit = 0;
  for (Body body : {Body{"encoder", &network.encoder(), &Work::encoder},
                    Body{"actor", &network.actor(), &Work::actor},
                    Body{"actor_top", &network.actor_top(), &Work::actor_top},
                    Body{"critic", &network.critic(), &Work::critic},
                    Body{"critic_top", &network.critic_top(), &Work::critic_top}}) {
    if (body.chain->empty()) continue;
    body.first_unit = first_unit;
    for (std::size_t l = 0; l < body.chain->layers().size(); ++l) {
      const std::size_t units = units_of(body.chain->layers()[l]);
      if (units > 0) body.layers.push_back(l);
      first_unit += units;
    }
    bodies_.push_back(std::move(body));
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
    for (const std::size_t l : body.layers) {
      const Layer& layer = body.chain->layers()[l];
      const std::size_t width = units_of(layer);
      const std::size_t rows = static_cast<std::size_t>(count) * outputs_of_unit(layer);
      const float* h = outputs + body.chain->output_offset(l);
      std::fill_n(units, width, UnitSums());
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t u = 0; u < width; ++u) units[u].add(h[r * width + u]);
      }
      units += width;
    }
  }
}

// Adds all tiles into the first.
void UnitProbe::finish() {
  std::vector<UnitSums>& sums = tiles_[0];
  for (std::size_t t = 1; t < tiles_.size(); ++t) {
    for (std::size_t u = 0; u < sums.size(); ++u) sums[u].add(tiles_[t][u]);
  }
}

IdleUnits UnitProbe::idle(const Body& body, std::size_t layer) const {
  const std::vector<Layer>& layers = body.chain->layers();
  std::size_t first = body.first_unit;
  for (std::size_t l = 0; l < layer; ++l) first += units_of(layers[body.layers[l]]);
  const Layer& asked = layers[body.layers[layer]];
  return count_idle({tiles_[0].data() + first, units_of(asked)},
                    rows_ * static_cast<int>(outputs_of_unit(asked)));
}

IdleUnits UnitProbe::idle() const {
  IdleUnits all;
  for (const Body& body : bodies_) {
    for (std::size_t l = 0; l < body.layers.size(); ++l) all.add(idle(body, l));
  }
  return all;
}

}  // namespace broadloom
