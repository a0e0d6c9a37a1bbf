#include "broadloom/nn/actor_critic.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace broadloom {
namespace {

std::vector<int> with_head(std::vector<int> sizes, int head) {
  sizes.push_back(head);
  return sizes;
}

}  // namespace

ActorCritic::ActorCritic(NetworkShape shape) : shape_(std::move(shape)) {
  const std::vector<int>& hidden = shape_.hidden_sizes;
  const bool shared = shape_.shared_encoder && !hidden.empty();
  if (shared) encoder_ = Mlp(shape_.observation_size, hidden, shape_.activation, true, layout_);
  const int features = shared ? hidden.back() : shape_.observation_size;
  const std::vector<int> own = shared ? std::vector<int>{} : hidden;
  actor_ = Mlp(features, with_head(own, shape_.action_outputs), shape_.activation, false, layout_);
  critic_ = Mlp(features, with_head(own, 1), shape_.activation, false, layout_);
  if (shape_.action_kind == SpaceKind::kBox) log_std_ = layout_.add_vector(shape_.action_outputs);
}

void ActorCritic::initialise(std::uint64_t seed, float* params) const {
  std::uint32_t tensor = 0;
  const auto init = [&](const Mlp& mlp, double head_gain, bool has_head) {
    for (std::size_t l = 0; l < mlp.layers().size(); ++l) {
      const bool head = has_head && l + 1 == mlp.layers().size();
      init_orthogonal(mlp.layers()[l], head ? head_gain : std::sqrt(2.0), seed, tensor++, params);
    }
  };
  init(encoder_, 0.0, false);
  init(actor_, 0.01, true);
  init(critic_, 1.0, true);
  if (shape_.action_kind == SpaceKind::kBox) {
    std::fill_n(params + log_std_, shape_.action_outputs, static_cast<float>(shape_.log_std_init));
  }
}

template <class Real>
TileWorkspace<Real> ActorCritic::make_workspace() const {
  TileWorkspace<Real> work;
  work.observations.resize(static_cast<std::size_t>(kTileRows) * shape_.observation_size);
  work.encoder.resize(encoder_.workspace_size());
  work.encoder_delta.resize(encoder_.workspace_size());
  work.actor.resize(actor_.workspace_size());
  work.actor_delta.resize(actor_.workspace_size());
  work.critic.resize(critic_.workspace_size());
  work.critic_delta.resize(critic_.workspace_size());
  if (!encoder_.empty()) {
    work.feature_delta.resize(static_cast<std::size_t>(kTileRows) * encoder_.out());
  }
  return work;
}

template <class Real>
void ActorCritic::forward(const Real* params, const Real* observations, int rows,
                          TileWorkspace<Real>& work) const {
  forward_critic(params, observations, rows, work);
  const Real* features =
      encoder_.empty() ? observations : work.encoder.data() + encoder_.last_offset();
  actor_.forward(params, features, rows, work.actor.data());
}

template <class Real>
void ActorCritic::forward_critic(const Real* params, const Real* observations, int rows,
                                 TileWorkspace<Real>& work) const {
  const Real* features = observations;
  if (!encoder_.empty()) {
    encoder_.forward(params, observations, rows, work.encoder.data());
    features = work.encoder.data() + encoder_.last_offset();
  }
  critic_.forward(params, features, rows, work.critic.data());
}

template <class Real>
void ActorCritic::backward(const Real* transposed, const Real* observations, int rows,
                           TileWorkspace<Real>& work, Real* grads) const {
  const bool shared = !encoder_.empty();
  const Real* features = shared ? work.encoder.data() + encoder_.last_offset() : observations;
  Real* from_actor = shared ? work.feature_delta.data() : nullptr;
  Real* from_both = shared ? work.encoder_delta.data() + encoder_.last_offset() : nullptr;
  actor_.backward(transposed, features, rows, work.actor.data(), work.actor_delta.data(), grads,
                  from_actor);
  critic_.backward(transposed, features, rows, work.critic.data(), work.critic_delta.data(), grads,
                   from_both);
  if (!shared) return;
  add_into(from_both, from_actor, static_cast<std::size_t>(rows) * encoder_.out());
  encoder_.backward(transposed, observations, rows, work.encoder.data(), work.encoder_delta.data(),
                    grads, static_cast<Real*>(nullptr));
}

template <class Real>
void ActorCritic::refresh_transposed(const Real* params, Real* transposed) const {
  encoder_.refresh_transposed(params, transposed);
  actor_.refresh_transposed(params, transposed);
  critic_.refresh_transposed(params, transposed);
}

#define BROADLOOM_INSTANTIATE(Real)                                                               \
  template TileWorkspace<Real> ActorCritic::make_workspace() const;                               \
  template void ActorCritic::forward(const Real*, const Real*, int, TileWorkspace<Real>&) const;  \
  template void ActorCritic::forward_critic(const Real*, const Real*, int, TileWorkspace<Real>&)  \
      const;                                                                                      \
  template void ActorCritic::backward(const Real*, const Real*, int, TileWorkspace<Real>&, Real*) \
      const;                                                                                      \
  template void ActorCritic::refresh_transposed(const Real*, Real*) const;
BROADLOOM_INSTANTIATE(float)
BROADLOOM_INSTANTIATE(double)
#undef BROADLOOM_INSTANTIATE

}  // namespace broadloom
