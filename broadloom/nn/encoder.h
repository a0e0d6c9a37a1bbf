// Network bodies by name: the layers between observations and heads.
#pragma once

#include <vector>

#include "broadloom/nn/chain.h"

namespace broadloom {

// Convolutions, each with its activation, before the dense layers of hidden_sizes.
enum class Encoder {
  kMlp,      // none
  kMinatar,  // 16 of 3x3, as in MinAtar's own agents and gymnax-blines
  kNature,   // 32 of 8x8 stride 4, 64 of 4x4 stride 2, 64 of 3x3 (Mnih et al. 2015)
  kImpala,   // three sections of 16, 32 and 32 filters: a convolution, a pool and two residual
             // blocks each (Espeholt et al. 2018)
};

// Layer normalisation between a layer's sums and its activation.
enum class Normalisation {
  kNone,
  kChannels,  // over the channels of each pixel (purejaxql, Flax)
  kAll,       // over the whole image (CleanRL)
};

// The hidden_sizes with which an encoder was published.
std::vector<int> published_hidden_sizes(Encoder encoder);

std::vector<LayerPlan> body_plan(Encoder encoder, Normalisation normalisation,
                                 const std::vector<int>& hidden_sizes);

// Side of the smallest square image into which every window of the plan fits.
int least_side(const std::vector<LayerPlan>& plan);
// Whether every window fits into an image of that size.
bool fits(const std::vector<LayerPlan>& plan, int height, int width);

}  // namespace broadloom
