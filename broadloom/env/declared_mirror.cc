#include "broadloom/env/declared_mirror.h"

#include <string_view>
#include <utility>

#include "broadloom/env/env_maker.h"
#include "broadloom/env/episode_waves.h"
#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/hidden_numbers.h"

namespace broadloom {
namespace {

class DeclaredMirrorEnv final : public ForwardingVecEnv, public EnvMaker, public EpisodeWaves {
 public:
  DeclaredMirrorEnv(std::unique_ptr<VecEnv> inner, const DeclaredMirror& mirror)
      : ForwardingVecEnv(std::move(inner)), mirror_(mirror), spec_(this->inner().spec()) {
    (void)describe_mirror(mirror, spec_).ok();  // checked before construction
  }

  const EnvSpec& spec() const override { return spec_; }

  std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const override {
    std::unique_ptr<VecEnv> others = make_another(inner(), options);
    return others == nullptr ? nullptr : declare_mirror(std::move(others), mirror_);
  }

  bool can_begin_waves() const override { return episode_waves(inner()) != nullptr; }
  Status begin_wave(int first) override { return episode_waves(inner())->begin_wave(first); }

 private:
  DeclaredMirror mirror_;
  EnvSpec spec_;
};

}  // namespace

bool can_be_mirrored(const EnvSpec& spec) {
  return shows_numbers(spec) &&
         (spec.action.kind == SpaceKind::kDiscrete || spec.action.kind == SpaceKind::kBox);
}

Status describe_mirror(const DeclaredMirror& mirror, EnvSpec& spec) {
  if (!mirror.any()) return {};
  spec.mirror = {.observation = SignedPermutation(std::string_view(mirror.mirror_obs)),
                 .critic_observation = SignedPermutation(std::string_view(mirror.mirror_critic)),
                 .action = SignedPermutation(std::string_view(mirror.mirror_action))};
  return check_mirror(spec);
}

std::unique_ptr<VecEnv> declare_mirror(std::unique_ptr<VecEnv> inner,
                                       const DeclaredMirror& mirror) {
  return std::make_unique<DeclaredMirrorEnv>(std::move(inner), mirror);
}

}  // namespace broadloom
