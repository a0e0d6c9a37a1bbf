#include "broadloom/env/declared_mirror.h"

#include <string_view>
#include <utility>

#include "broadloom/env/hidden_numbers.h"
#include "broadloom/env/rewrapping_vec_env.h"

namespace broadloom {
namespace {

class DeclaredMirrorEnv final : public RewrappingVecEnv {
 public:
  DeclaredMirrorEnv(std::unique_ptr<VecEnv> inner, const DeclaredMirror& mirror)
      : RewrappingVecEnv(std::move(inner)), mirror_(mirror), spec_(this->inner().spec()) {
    (void)describe_mirror(mirror, spec_).ok();  // checked before construction
  }

  const EnvSpec& spec() const override { return spec_; }

 private:
  std::unique_ptr<VecEnv> wrap(std::unique_ptr<VecEnv> others,
                               const VecEnvOptions&) const override {
    return declare_mirror(std::move(others), mirror_);
  }

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
