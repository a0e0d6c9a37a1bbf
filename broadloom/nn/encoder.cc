#include "broadloom/nn/encoder.h"

#include <utility>

namespace broadloom {
namespace {

class Planner {
 public:
  explicit Planner(Normalisation normalisation) : normalisation_(normalisation) {}

  void dense(int width) { add_normalised({.kind = LayerKind::kLinear, .width = width}); }
  void convolution(int filters, int kernel, int stride) {
    add_normalised(
        {.kind = LayerKind::kConvolution, .width = filters, .kernel = kernel, .stride = stride});
  }
  // A convolution that keeps the image's size, a pool that halves it, two residual blocks.
  void section(int filters) {
    same_size(filters, false);
    plan_.push_back({.kind = LayerKind::kMaxPool, .kernel = 3, .stride = 2, .padding = 1});
    for (int block = 0; block < 2; ++block) {
      const std::size_t source = plan_.size() - 1;
      activation();
      same_size(filters, true);
      same_size(filters, false);
      plan_.push_back({.kind = LayerKind::kAdd, .source = source});
    }
  }
  void activation() { plan_.push_back({.kind = LayerKind::kActivation}); }
  std::vector<LayerPlan> take() { return std::move(plan_); }

 private:
  void same_size(int filters, bool is_activated) {
    plan_.push_back({.kind = LayerKind::kConvolution,
                     .is_activated = is_activated,
                     .width = filters,
                     .kernel = 3,
                     .padding = 1});
  }
  void add_normalised(LayerPlan layer) {
    layer.is_activated = normalisation_ == Normalisation::kNone;
    plan_.push_back(layer);
    if (layer.is_activated) return;
    plan_.push_back({.kind = LayerKind::kLayerNorm,
                     .is_activated = true,
                     .over_all = normalisation_ == Normalisation::kAll});
  }

  Normalisation normalisation_;
  std::vector<LayerPlan> plan_;
};

}  // namespace

std::vector<int> published_hidden_sizes(Encoder encoder) {
  switch (encoder) {
    case Encoder::kMinatar:
      return {128};
    case Encoder::kNature:
      return {512};
    case Encoder::kImpala:
      return {256};
    case Encoder::kMlp:
      break;
  }
  return {64, 64};
}

std::vector<LayerPlan> body_plan(Encoder encoder, Normalisation normalisation,
                                 const std::vector<int>& hidden_sizes) {
  Planner plan(normalisation);
  if (encoder == Encoder::kMinatar) plan.convolution(16, 3, 1);
  if (encoder == Encoder::kNature) {
    plan.convolution(32, 8, 4);
    plan.convolution(64, 4, 2);
    plan.convolution(64, 3, 1);
  }
  if (encoder == Encoder::kImpala) {
    for (const int filters : {16, 32, 32}) plan.section(filters);
    plan.activation();
  }
  for (const int width : hidden_sizes) plan.dense(width);
  return plan.take();
}

bool fits(const std::vector<LayerPlan>& plan, int height, int width) {
  for (const LayerPlan& layer : plan) {
    if (layer.kind != LayerKind::kConvolution && layer.kind != LayerKind::kMaxPool) continue;
    const ConvolutionShape window{height, width, 1, 1, layer.kernel, layer.stride, layer.padding};
    if (!window.fits()) return false;
    height = window.out_height();
    width = window.out_width();
  }
  return true;
}

int least_side(const std::vector<LayerPlan>& plan) {
  int side = 1;
  while (!fits(plan, side, side)) ++side;
  return side;
}

}  // namespace broadloom
