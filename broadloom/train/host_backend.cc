// Backends of the CPU: alone, and as one of several ranks.
#include <memory>

#include "broadloom/setup/algorithms.h"
#include "broadloom/train/backend.h"

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

  Status gather_environments(std::int64_t iteration) override {
    if (gathered_iteration_ == iteration) return {};
    BROADLOOM_TRY(share_environments());
    gathered_iteration_ = iteration;
    return {};
  }

  Status capture(std::int64_t iteration) override {
    return check_shared(gathered_iteration_, iteration);
  }

  void state_restored(std::int64_t iteration) override { gathered_iteration_ = iteration; }

 private:
  std::int64_t gathered_iteration_ = 0;  // of the gathered environments
};

}  // namespace

std::unique_ptr<Backend> make_host_backend(const BackendSetup& setup) {
  if (setup.ranks.size() == 1) return std::make_unique<HostBackend>(setup);
  return std::make_unique<RankedBackend>(setup);
}

}  // namespace broadloom
