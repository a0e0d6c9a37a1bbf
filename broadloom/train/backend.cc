// The part of all backends that keeps ranks together.
#include "broadloom/train/backend.h"

#include <fmt/core.h>

#include <span>
#include <vector>

#include "broadloom/core/hash.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

Status Backend::copy_first_rank_state(Trainer& trainer) {
  if (ranks().size() == 1) return {};
  BROADLOOM_TRY(ranks().agree(trainer.capture()));
  std::vector<TensorRef> tensors;
  BROADLOOM_TRY(ranks().agree(with_simulator_errors([&] { tensors = trainer.state(); })));
  for (const auto& more : {trainer.report_state(), trainer.instrument_state()}) {
    tensors.insert(tensors.end(), more.begin(), more.end());
  }
  for (const TensorRef& tensor : tensors) exchange().add(tensor.data, tensor.bytes(), 0);
  exchange().finish();
  BROADLOOM_TRY(ranks().status());
  return ranks().agree(ranks().is_first() ? Status() : trainer.state_restored());
}

Status Backend::compare_params() {
  if (ranks().size() == 1) return {};
  const auto params = std::as_bytes(std::span(setup_.learner.params));
  return ranks().agree(ranks().status(), 0, hash64(params));
}

Status Backend::share_environments() {
  VecEnv& envs = setup_.envs;
  BROADLOOM_TRY(
      ranks().agree(call_simulator(envs.spec().id, "capture", [&] { return envs.capture(); })));
  std::vector<TensorRef> tensors;
  BROADLOOM_TRY(
      ranks().agree(with_simulator_errors([&] { tensors = state_of_simulator(envs, "envs"); })));
  const std::size_t count = static_cast<std::size_t>(envs.num_envs());
  for (const TensorRef& tensor : tensors) {
    exchange().add_lines(tensor.data, 1, count, tensor.bytes() / count,
                         setup_.collector.cut().env_bounds());
  }
  exchange().finish();
  BROADLOOM_TRY(ranks().agree(
      call_simulator(envs.spec().id, "state_restored", [&] { return envs.state_restored(); })));
  return ranks().status();
}

Status Backend::check_shared(std::int64_t shared, std::int64_t iteration) {
  if (shared == iteration) return {};
  return invalid(
      fmt::format("the states of other ranks' environments are of iteration {}, expected {}; call "
                  "gather_environments() on all ranks first",
                  shared, iteration));
}

}  // namespace broadloom
