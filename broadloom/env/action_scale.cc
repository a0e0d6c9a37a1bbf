#include "broadloom/env/action_scale.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/drawable.h"
#include "broadloom/env/rewrapping_vec_env.h"

namespace broadloom {
namespace {

constexpr float kWidest = 20.0f;  // a range that a new policy explores unscaled

class ScaledEnv : public RewrappingVecEnv {
 public:
  explicit ScaledEnv(std::unique_ptr<VecEnv> inner)
      : RewrappingVecEnv(std::move(inner)),
        spec_(this->inner().spec()),
        width_(static_cast<std::size_t>(spec_.action_size())),
        scaled_(static_cast<std::size_t>(num_envs()) * width_) {
    // The registry has checked that the actions have bounds.
    (void)describe_action_scale({.scale_actions = true}, spec_).ok();
  }

  const EnvSpec& spec() const override { return spec_; }

  Status step(int begin, int end, const StepRows& rows) override {
    float* const scaled = &scaled_[static_cast<std::size_t>(begin) * width_];
    for (int k = 0; k < end - begin; ++k) {
      const std::size_t row = static_cast<std::size_t>(k) * width_;
      scale(rows.actions + row, scaled + row);
    }
    StepRows own = rows;
    own.actions = scaled;
    return inner().step(begin, end, own);
  }

 protected:
  // action, out: [A].
  void scale(const float* action, float* out) const {
    const auto choices = static_cast<std::size_t>(spec_.action.choice_count());
    std::copy_n(action, choices, out);
    for (std::size_t i = choices; i < width_; ++i) {
      out[i] = scaled_action(action[i], spec_.action.own_low[i], spec_.action.own_high[i]);
    }
  }
  std::size_t width() const { return width_; }

 private:
  std::unique_ptr<VecEnv> wrap(std::unique_ptr<VecEnv> others,
                               const VecEnvOptions&) const override {
    return scale_actions(std::move(others));
  }

  EnvSpec spec_;
  std::size_t width_;          // A
  std::vector<float> scaled_;  // [N, A] scaled actions of this step; not saved
};

// Drawings show the scaled action.
class DrawableScaledEnv final : public ScaledEnv, public Drawable {
 public:
  DrawableScaledEnv(std::unique_ptr<VecEnv> inner, const Drawable& drawable)
      : ScaledEnv(std::move(inner)), drawable_(drawable) {}

  void draw(int env, const float* action, Drawing& out) const override {
    if (action == nullptr) return drawable_.draw(env, nullptr, out);
    std::vector<float> own(width());
    scale(action, own.data());
    drawable_.draw(env, own.data(), out);
  }
  bool has_3d_view() const override { return drawable_.has_3d_view(); }

 private:
  const Drawable& drawable_;  // of the wrapped environments
};

}  // namespace

bool has_bounded_actions(const EnvSpec& spec) {
  const Space& space = spec.action;
  if (!space.has_box() || space.low.empty()) return false;
  for (std::size_t i = 0; i < space.low.size() && i < space.high.size(); ++i) {
    if (!std::isfinite(space.low[i]) || !std::isfinite(space.high[i])) return false;
  }
  return true;
}

bool scales_by_default(const EnvSpec& spec) {
  if (!has_bounded_actions(spec)) return false;
  for (auto i = static_cast<std::size_t>(spec.action.choice_count()); i < spec.action.low.size();
       ++i) {
    const float low = spec.action.low[i], high = spec.action.high[i];
    if (low > -1.0f || high < 1.0f || high - low > kWidest) return true;
  }
  return false;
}

Status describe_action_scale(const ActionScale& scale, EnvSpec& spec) {
  if (!scale.any()) return {};
  if (!has_bounded_actions(spec)) {
    return invalid(fmt::format(
        "env.scale_actions: got true, but actions of {} are {}; expected a Box whose bounds are "
        "finite. Leave it out",
        spec.id, spec.action.has_box() ? "a Box without bounds" : shape_text(spec.action)));
  }
  spec.has_score_range = false;
  spec.action.own_low = spec.action.low;
  spec.action.own_high = spec.action.high;
  const auto choices = spec.action.choice_count();  // stay as they are
  std::fill(spec.action.low.begin() + choices, spec.action.low.end(), -1.0f);
  std::fill(spec.action.high.begin() + choices, spec.action.high.end(), 1.0f);
  return {};
}

std::unique_ptr<VecEnv> scale_actions(std::unique_ptr<VecEnv> inner) {
  const auto* const drawable = capability<Drawable>(*inner);
  if (drawable == nullptr) return std::make_unique<ScaledEnv>(std::move(inner));
  return std::make_unique<DrawableScaledEnv>(std::move(inner), *drawable);
}

}  // namespace broadloom
