// Plants faults in a trainer's state or environments, which the audit must find.
// sanitizers: none (whole runs, whose parts have tests of their own)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "broadloom/env/audit_context.h"
#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/tasks/register_environment.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/trainer.h"
#include "research/audit/checks.h"
#include "tests/env/commanded.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

Config audited_config(const Overrides& overrides) {
  Overrides all{{"num_envs", "32"},       {"num_steps", "32"},       {"total_timesteps", "200000"},
                {"instruments", "audit"}, {"instrument_every", "1"}, {"stagger_starts", "true"},
                {"num_minibatches", "4"}};
  return resolved(add_overrides(all, overrides));
}

std::unique_ptr<Trainer> audited_trainer(const Config& config,
                                         std::unique_ptr<VecEnv> envs = nullptr) {
  Result<std::unique_ptr<Trainer>> trainer =
      envs == nullptr ? Trainer::create(config, 2) : Trainer::create(config, 2, std::move(envs));
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  return trainer.take();
}

template <class T>
std::span<T> tensor(Trainer& trainer, const std::string& name) {
  for (const TensorRef& ref : trainer.state()) {
    if (ref.name == name) return {static_cast<T*>(ref.data), ref.count()};
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

// The audit's findings over more iterations.
std::vector<AuditFinding> audit(Trainer& trainer, int iterations = 3) {
  std::vector<AuditNumbers> measured;
  for (int i = 0; i < iterations; ++i) {
    const Status status = trainer.iterate();
    EXPECT_TRUE(status.ok()) << status.message();
    AuditNumbers& numbers = measured.emplace_back();
    trainer.instruments().visit_numbers([&](const NumberInfo& info, double value) {
      AuditNumbers::visit(numbers, [&](const NumberInfo& field, double& place) {
        if (std::string_view(field.name) == info.name) place = value;
      });
    });
  }
  RunFacts facts;
  facts.num_envs = trainer.config().num_envs;
  facts.num_steps = trainer.config().num_steps;
  facts.families = trainer.config().families();
  return judge({measured, facts});
}

Severity severity_of(const std::vector<AuditFinding>& findings, const std::string& check) {
  for (const AuditFinding& finding : findings) {
    if (check == finding.check) return finding.severity;
  }
  ADD_FAILURE() << "no check " << check;
  return Severity::kOk;
}

// No finding before the fault, a finding after it.
void expect_found(const Overrides& overrides, const std::string& check, Severity severity,
                  const std::function<void(Trainer&)>& plant) {
  std::unique_ptr<Trainer> trainer = audited_trainer(audited_config(overrides));
  EXPECT_LE(worst(audit(*trainer, 8)), Severity::kNote);
  plant(*trainer);
  EXPECT_TRUE(trainer->state_restored().ok());
  EXPECT_EQ(severity_of(audit(*trainer), check), severity) << check;
}

const Overrides kPendulum{{"env_id", "Pendulum-v1"}};
const Overrides kCartPole{{"env_id", "CartPole-v1"}};

TEST(AuditFaults, StatisticsOfOtherStates) {
  expect_found(kPendulum, "normaliser_mean", Severity::kWarning, [](Trainer& trainer) {
    tensor<double>(trainer, "obs_normalizer.mean")[2] += 100.0;
    tensor<double>(trainer, "obs_normalizer.count")[0] = 1e9;
  });
  expect_found(kPendulum, "normaliser_variance", Severity::kWarning, [](Trainer& trainer) {
    for (double& variance : tensor<double>(trainer, "obs_normalizer.var")) variance *= 0.03;
    tensor<double>(trainer, "obs_normalizer.count")[0] = 1e9;
  });
  expect_found(kPendulum, "normaliser_width", Severity::kWarning, [](Trainer& trainer) {
    for (double& variance : tensor<double>(trainer, "obs_normalizer.var")) variance *= 5000.0;
    tensor<double>(trainer, "obs_normalizer.count")[0] = 1e9;
  });
  expect_found(kPendulum, "normaliser_clipping", Severity::kWarning, [](Trainer& trainer) {
    for (double& variance : tensor<double>(trainer, "obs_normalizer.var")) variance *= 1e-4;
    tensor<double>(trainer, "obs_normalizer.count")[0] = 1e9;
  });
}

// The count is too large for additions of doubles, so the statistics do not change any more.
// With clip_obs = 0 no observation is clipped, so none is at the edge.
TEST(AuditObservations, AreNotAtAnEdgeThatIsNone) {
  for (const auto& [clip_obs, severity] :
       {std::pair{"0", Severity::kOk}, {"0.5", Severity::kWarning}}) {
    const auto trainer =
        audited_trainer(audited_config({{"norm_obs", "true"}, {"clip_obs", clip_obs}}));
    EXPECT_EQ(severity_of(audit(*trainer), "normaliser_clipping"), severity) << clip_obs;
  }
}

TEST(AuditFaults, StatisticsThatNothingMoves) {
  expect_found(kPendulum, "normaliser_frozen", Severity::kWarning,
               [](Trainer& trainer) { tensor<double>(trainer, "obs_normalizer.count")[0] = 1e30; });
}

TEST(AuditFaults, ARewardScaleOfLongAgo) {
  for (const char* check : {"reward_clipping", "reward_scale"}) {
    expect_found(kPendulum, check, Severity::kWarning, [](Trainer& trainer) {
      tensor<double>(trainer, "reward_normalizer.var")[0] *= 1e-5;
      tensor<double>(trainer, "reward_normalizer.count")[0] = 1e12;
    });
  }
}

// Rewards of the block are clipped first and then multiplied.
TEST(AuditRewards, AreClippedWhateverTheyAreMultipliedBy) {
  const auto clipped = [](const std::string& scale) {
    const std::unique_ptr<Trainer> trainer = audited_trainer(audited_config(add_overrides(
        kPendulum, {{"norm_reward", "true"}, {"clip_reward", "0.1"}, {"reward_scale", scale}})));
    EXPECT_TRUE(trainer->iterate().ok());
    double share = 0.0;
    trainer->instruments().visit_numbers([&](const NumberInfo& info, double value) {
      if (std::string_view(info.name) == "audit/reward_clipped") share = value;
    });
    return share;
  };
  const double share = clipped("1");
  EXPECT_GT(share, 0.0);
  EXPECT_LT(share, 1.0);
  for (const char* scale : {"0.1", "0.7", "3"}) EXPECT_EQ(clipped(scale), share) << scale;
}

TEST(AuditFaults, ActionsOutsideTheirSpace) {
  expect_found(kPendulum, "action_clipping", Severity::kWarning, [](Trainer& trainer) {
    std::span<float> params = tensor<float>(trainer, "learner.params");
    params[trainer.network().log_std_offset()] = 4.0f;  // deviation 55 within bounds of 2
  });
}

TEST(AuditFaults, APolicyThatHasMadeUpItsMind) {
  expect_found(kCartPole, "entropy_collapse", Severity::kNote, [](Trainer& trainer) {
    tensor<float>(trainer, "learner.params")[trainer.network().policy_head().bias] = 20.0f;
  });
}

TEST(AuditFaults, UnitsThatDied) {
  Overrides relu = kCartPole;
  relu.emplace_back("activation", "relu");
  expect_found(relu, "idle_units", Severity::kWarning, [](Trainer& trainer) {
    const LinearSlice& layer = trainer.network().actor().layers()[1].slice;
    std::span<float> params = tensor<float>(trainer, "learner.params");
    for (int unit = 0; unit < 60; ++unit) params[layer.bias + unit] = -1e3f;
  });
}

// The layers after the cell are well.
TEST(AuditFaults, UnitsThatDiedBeforeACell) {
  const Overrides first{{"env_id", "MinAtar/Breakout-v1"},
                        {"encoder", "minatar"},
                        {"activation", "tanh"},
                        {"hidden_sizes", "8"},
                        {"recurrent", "gru"},
                        {"recurrent_units", "9"}};
  expect_found(first, "idle_units", Severity::kWarning, [](Trainer& trainer) {
    const LinearSlice& filters = trainer.network().actor().layers()[0].slice;
    std::span<float> params = tensor<float>(trainer, "learner.params");
    for (int filter = 0; filter < 14; ++filter) params[filters.bias + filter] = -1e3f;
  });
}

TEST(AuditFaults, StepsThatAreTooLarge) {
  for (const char* check : {"update_kl", "kl_estimates", "update_ess", "update_clipping"}) {
    Overrides large = kPendulum;
    large.emplace_back("lr_schedule", "constant");
    large.emplace_back("normaliser", "gymnasium");  // whose rewards clip enough of the batch
    expect_found(large, check, Severity::kWarning, [](Trainer& trainer) {
      tensor<double>(trainer, "learner.learning_rate")[0] = 0.1;
    });
  }
}

// With values in the millions, advantages are float32 rounding errors.
TEST(AuditFaults, AdvantagesThatAreRounding) {
  Overrides undiscounted = kPendulum;
  undiscounted.emplace_back("gamma", "1");
  expect_found(undiscounted, "advantage_scale", Severity::kWarning, [](Trainer& trainer) {
    std::span<float> params = tensor<float>(trainer, "learner.params");
    std::fill(params.begin(), params.end(), 0.0f);
    params[trainer.network().value_head().bias] = 1e8f;
  });
}

// One environment wins a lottery.
class Lottery final : public ForwardingVecEnv {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  Status step(int begin, int end, const StepRows& rows) override {
    BROADLOOM_TRY(ForwardingVecEnv::step(begin, end, rows));
    if (begin == 0) rows.rewards[0] += ++steps_ % 32 == 31 ? 1e7f : 0.0f;
    return {};
  }

 private:
  int steps_ = 0;
};

// All environments return the observations and rewards of the first in their shard.
class Echo final : public ForwardingVecEnv {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  void observe(int begin, int end, ObservationRows rows) const override {
    ForwardingVecEnv::observe(begin, end, rows);
    spread(rows.floats(), spec().observation_size(), end - begin);
  }
  Status step(int begin, int end, const StepRows& rows) override {
    std::vector<float> actions(static_cast<std::size_t>((end - begin) * spec().action_size()),
                               1.0f);
    StepRows inner = rows;
    inner.actions = actions.data();
    BROADLOOM_TRY(ForwardingVecEnv::step(begin, end, inner));
    spread(rows.observations.floats(), spec().observation_size(), end - begin);
    spread(rows.rewards, 1, end - begin);
    return {};
  }

 private:
  static void spread(float* rows, int width, int count) {
    for (int k = 1; k < count; ++k) std::copy_n(rows, width, rows + k * width);
  }
};

// Every episode's constants are those of the run's first, and of the first environment's.
class OneDraw final : public ForwardingVecEnv, public AuditContext {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  std::span<const std::byte> drawn_constants(int) const override {
    return std::as_bytes(std::span(kDraw));
  }

 private:
  static constexpr double kDraw[] = {9.8, 0.5};
};

template <class Fault>
std::vector<AuditFinding> audit_environments(const Overrides& overrides) {
  const Config config = audited_config(overrides);
  Result<std::unique_ptr<VecEnv>> envs =
      make_vec_env(config.env_id, config.env_options, vec_env_options(config));
  EXPECT_TRUE(envs.ok()) << envs.status().message();
  return audit(*audited_trainer(config, std::make_unique<Fault>(envs.take())), 8);
}

TEST(AuditFaults, EnvironmentsThatAreWrappedRightly) {
  EXPECT_LE(worst(audit_environments<ForwardingVecEnv>(kCartPole)), Severity::kNote);
}

TEST(AuditFaults, ARewardThatOutweighsAllOthers) {
  Overrides single = kCartPole;
  single.emplace_back("gae_lambda", "0");
  EXPECT_EQ(severity_of(audit_environments<Lottery>(single), "advantage_dominance"),
            Severity::kWarning);
  // Traces spread it over the samples before: the last has 1 - (gamma lambda)^2 of the squares.
  EXPECT_EQ(severity_of(audit_environments<Lottery>(kCartPole), "advantage_dominance"),
            Severity::kNote);
}

TEST(AuditFaults, EnvironmentsThatEchoEachOther) {
  const std::vector<AuditFinding> findings =
      audit_environments<Echo>({{"env_id", "Pendulum-v1"}, {"norm_obs", "false"}});
  EXPECT_EQ(severity_of(findings, "correlated_environments"), Severity::kWarning);
}

TEST(AuditFaults, DrawsThatAreNone) {
  const Overrides strata{{"env_id", "CartPole-v1"}, {"strata.a.half_length", "0.3..0.8"}};
  const std::vector<AuditFinding> right = audit_environments<ForwardingVecEnv>(strata);
  EXPECT_EQ(severity_of(right, "parameter_draws"), Severity::kOk);
  EXPECT_EQ(severity_of(right, "kept_draws"), Severity::kOk);
  const std::vector<AuditFinding> wrong = audit_environments<OneDraw>(strata);
  EXPECT_EQ(severity_of(wrong, "parameter_draws"), Severity::kError);
  EXPECT_EQ(severity_of(wrong, "kept_draws"), Severity::kError);
}

// Each environment gets the first one's input.
class OneCommand final : public ForwardingVecEnv, public AuditContext {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  void context(int, std::span<double> out) const override {
    capability<AuditContext>(inner())->context(0, out);
  }
};

TEST(AuditFaults, EnvironmentsThatAreAllAskedTheSame) {
  ASSERT_TRUE(register_environment<Commanded>("Commanded-v0").ok());
  const Overrides asked{{"env_id", "Commanded-v0"}};
  const char* check = "same_tasks";
  EXPECT_EQ(severity_of(audit_environments<ForwardingVecEnv>(asked), check), Severity::kOk);
  EXPECT_EQ(severity_of(audit_environments<OneCommand>(asked), check), Severity::kWarning);
  // Set by an option, as a user would.
  Overrides still = asked;
  still.emplace_back("env.max_command", "0");
  EXPECT_EQ(severity_of(audit_environments<ForwardingVecEnv>(still), check), Severity::kWarning);
}

// A deterministic policy and one state for all environments: copies in the same and in other
// families.
TEST(AuditFaults, EnvironmentsThatAreCopies) {
  const std::tuple<const char*, const char*, Severity> cases[] = {
      {"0", "duplicate_environments", Severity::kError},
      {"1", "family_environments", Severity::kWarning}};
  for (const auto& [families, check, expected] : cases) {
    Overrides few = kCartPole;
    few.emplace_back("seed_families", families);
    few.emplace_back("num_steps", "4");  // no pole falls within
    std::unique_ptr<Trainer> trainer = audited_trainer(audited_config(few));
    tensor<float>(*trainer, "learner.params")[trainer->network().policy_head().bias] = 60.0f;
    for (const TensorRef& ref : trainer->state()) {
      if (ref.name.rfind("envs.", 0) != 0) continue;
      const std::size_t bytes = ref.bytes() / 32;
      char* data = static_cast<char*>(ref.data);
      for (std::size_t n = 1; n < 32; ++n) std::memcpy(data + n * bytes, data, bytes);
    }
    EXPECT_EQ(severity_of(audit(*trainer, 1), check), expected) << check;
  }
}

}  // namespace
}  // namespace broadloom
