// Backends of the CPU: alone, and as one of several ranks.
#include <fmt/core.h>

#include <span>
#include <vector>

#include "broadloom/core/hash.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/train/backend.h"
#include "broadloom/train/trainer.h"

namespace broadloom {
namespace {

class HostBackend : public Backend {
 public:
  explicit HostBackend(const BackendSetup& setup)
      : Backend(setup), now_(setup.config.of_phase(0)), algorithm_(make()) {}

  Algorithm& algorithm() override { return *algorithm_; }

  void reshape(const Config& now) override {
    algorithm_.reset();  // before its config changes
    now_ = now;
    algorithm_ = make();
  }

  Status fill_block(const RunClock& clock, bool) override {
    return setup_.collector.collect(setup_.learner.params.data(), clock.env_step, setup_.block);
  }

  void bootstrap_values() override {
    setup_.collector.bootstrap_values(setup_.learner.params.data(), setup_.block);
  }

 private:
  std::unique_ptr<Algorithm> make() {
    return make_algorithm(
        {now_, setup_.network, setup_.envs.spec(), setup_.pool, setup_.ranks, setup_.value_norm});
  }

  Config now_;  // the current phase's config, without a schedule
  std::unique_ptr<Algorithm> algorithm_;
};

class RankedBackend final : public HostBackend {
 public:
  using HostBackend::HostBackend;

  bool steps_elsewhere() const override { return true; }

  // Environments that are never stepped or at rest are the same on all ranks.
  Status gather_environments(std::int64_t iteration) override {
    if (gathered_iteration_ == iteration) return {};
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
    gathered_iteration_ = iteration;
    return ranks().status();
  }

  Status capture(std::int64_t iteration) override {
    if (gathered_iteration_ == iteration) return {};
    return invalid(
        fmt::format("the states of other ranks' environments are of iteration {}, expected "
                    "{}; call gather_environments() on all ranks first",
                    gathered_iteration_, iteration));
  }

  void state_restored(std::int64_t iteration) override { gathered_iteration_ = iteration; }

  Status copy_first_rank_state(Trainer& trainer) override {
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

  Status compare_params() override {
    const auto params = std::as_bytes(std::span(setup_.learner.params));
    return ranks().agree(ranks().status(), 0, hash64(params));
  }

 private:
  std::int64_t gathered_iteration_ = 0;  // of the gathered environments
};

}  // namespace

std::unique_ptr<Backend> make_host_backend(const BackendSetup& setup) {
  if (setup.ranks.size() == 1) return std::make_unique<HostBackend>(setup);
  return std::make_unique<RankedBackend>(setup);
}

}  // namespace broadloom
