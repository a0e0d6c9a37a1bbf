// Instruments in training: when they measure, their inputs, and that they change nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/instruments/registry.h"
#include "broadloom/train/trainer.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

Config measured_config(const Overrides& overrides) {
  Overrides all{{"env_id", "CartPole-v1"},   {"num_envs", "16"},          {"num_steps", "16"},
                {"total_timesteps", "2000"}, {"instruments", "gradient"}, {"hidden_sizes", "16,8"}};
  return resolved(add_overrides(all, overrides));
}

std::unique_ptr<Trainer> measured_trainer(const Overrides& overrides) {
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(measured_config(overrides), 2);
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  return trainer.take();
}

double number(const Trainer& trainer, const std::string& wanted) {
  double found = std::nan("");
  trainer.instruments().visit_numbers([&](const NumberInfo& info, double value) {
    if (info.name == wanted) found = value;
  });
  return found;
}

double reported(const Trainer& trainer, const std::string& wanted) {
  double found = std::nan("");
  visit_numbers(trainer.report(), [&](const NumberInfo& info, auto value) {
    if (info.name == wanted) found = static_cast<double>(value);
  });
  return found;
}

TEST(Instruments, MeasureEverySoManyIterationsAndInTheLast) {
  std::unique_ptr<Trainer> trainer = measured_trainer({{"instrument_every", "3"}});
  EXPECT_FALSE(trainer->instruments().measured());
  for (int iteration = 1; iteration <= 7; ++iteration) {
    ASSERT_TRUE(trainer->iterate().ok());
    EXPECT_EQ(trainer->instruments().measured(), iteration % 3 == 0 || iteration == 7) << iteration;
  }
  EXPECT_TRUE(trainer->finished());
}

TEST(Instruments, NoneMeasureNothing) {
  std::unique_ptr<Trainer> trainer = measured_trainer({{"instruments", ""}});
  ASSERT_TRUE(trainer->iterate().ok());
  EXPECT_FALSE(trainer->instruments().measured());
  trainer->instruments().visit_numbers(
      [](const NumberInfo& info, double) { ADD_FAILURE() << info.name; });
}

// The probe's numbers must agree with those of the update's minibatches and of the parameters.
TEST(Instruments, SeeTheUpdateThatIsReported) {
  std::unique_ptr<Trainer> trainer = measured_trainer({{"instrument_every", "1"},
                                                       {"learning_rate", "0.003"},
                                                       {"num_minibatches", "1"},
                                                       {"update_epochs", "1"}});
  const std::size_t parameters = trainer->network().parameter_count();
  for (int i = 0; i < 2; ++i) {
    const std::vector<float> before(trainer->params(), trainer->params() + parameters);
    ASSERT_TRUE(trainer->iterate().ok());
    EXPECT_DOUBLE_EQ(number(*trainer, "grad/full_norm"), reported(*trainer, "grad_norm"));
    EXPECT_DOUBLE_EQ(number(*trainer, "grad/last_epoch_ess"), reported(*trainer, "ess"));
    double squares = 0.0;
    for (std::size_t p = 0; p < parameters; ++p) {
      squares += std::pow(static_cast<double>(trainer->params()[p]) - before[p], 2);
    }
    EXPECT_NEAR(number(*trainer, "grad/step_norm"), std::sqrt(squares), 1e-9);
    EXPECT_GT(squares, 0.0);
  }
}

TEST(Instruments, TheLastEpochIsTheOneThatTargetKlLeft) {
  std::unique_ptr<Trainer> trainer = measured_trainer({{"instrument_every", "1"},
                                                       {"learning_rate", "0.01"},
                                                       {"target_kl", "1e-6"},
                                                       {"update_epochs", "9"}});
  ASSERT_TRUE(trainer->iterate().ok());
  ASSERT_EQ(trainer->report().epochs, 1);
  EXPECT_EQ(number(*trainer, "grad/last_epoch_cosine"),
            number(*trainer, "grad/first_epoch_cosine"));
  EXPECT_EQ(number(*trainer, "grad/last_epoch_clipfrac"), reported(*trainer, "clipfrac"));
}

// One minibatch and epoch: the block's gradient is the mean of the samples', and ratios have no
// meaning.
TEST(Instruments, MeasureActionValues) {
  std::unique_ptr<Trainer> trainer =
      measured_trainer({{"algorithm", "pqn"},
                        {"instruments", "gradient,policy,audit,plasticity,coverage"},
                        {"instrument_every", "1"}});
  ASSERT_TRUE(trainer->iterate().ok());
  EXPECT_GT(number(*trainer, "grad/sample_norm"), 0.0);
  EXPECT_GT(number(*trainer, "grad/variance_inflation"), 0.0);
  EXPECT_GT(number(*trainer, "grad/full_norm"), 0.0);
  EXPECT_EQ(number(*trainer, "audit/target_error"), number(*trainer, "audit/target_error"));
  for (const char* name : {"grad/last_epoch_ess", "policy/kl", "policy/max_ratio", "audit/kl",
                           "audit/first_ratio_error", "audit/relative_entropy"}) {
    EXPECT_TRUE(std::isnan(number(*trainer, name))) << name;
  }
}

TEST(InstrumentRegistry, RefusesWhatHasNeitherPolicyNorValues) {
  const std::string name = "mine";
  const auto check = [&](bool draws, bool has_values) {
    return check_instruments(
        {"gradient"},
        {.name = name, .draws_from_policy = draws, .learns_action_values = has_values});
  };
  EXPECT_TRUE(check(true, false).ok());
  EXPECT_TRUE(check(false, true).ok());
  EXPECT_NE(check(false, false).message().find("'gradient' measures a policy"), std::string::npos);
}

TEST(InstrumentRegistry, KnowsItsNamesOnly) {
  const ActorCritic network((NetworkShape()));
  const InstrumentSetup setup{.network = network,
                              .num_steps = 8,
                              .num_envs = 4,
                              .action_size = 1,
                              .probe = {},
                              .action = {}};
  for (const std::string& name : instrument_names()) {
    EXPECT_NE(make_instrument(name, setup), nullptr) << name;
    EXPECT_GT(instrument_bytes(name, setup), 0u) << name;
  }
  EXPECT_EQ(make_instrument("gradients", setup), nullptr);
  EXPECT_EQ(instrument_bytes("gradients", setup), 0u);
}

}  // namespace
}  // namespace broadloom
