// The conformance checks, on environments of every kind and on ones with planted faults.
// sanitizers: address (some of its simulators race on purpose)
#include "broadloom/env/conformance/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "broadloom/env/audit_context.h"
#include "broadloom/env/batched_env.h"
#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/step_counter.h"
#include "broadloom/env/tasks/registry.h"
#include "examples/own_env/hover.h"
#include "tests/env/commanded.h"
#include "tests/env/counted.h"
#include "tests/env/observation_envs.h"
#include "tests/env/rollout.h"
#include "tests/env/simulators.h"

namespace broadloom {
namespace {

using Problems = std::vector<std::string>;
using MakeEnvs = std::function<std::unique_ptr<VecEnv>(const VecEnvOptions&)>;

ConformanceReport report_of(const MakeEnvs& make, const ConformanceOptions& options = {}) {
  return check_vec_env(
      [&](const VecEnvOptions& asked) { return Result<std::unique_ptr<VecEnv>>(make(asked)); },
      options);
}

MakeEnvs by_name(const std::string& id, const Overrides& keys = {}) {
  return [=](const VecEnvOptions& options) { return make(id, options, keys); };
}

class Conformance : public ::testing::TestWithParam<std::string> {};

TEST_P(Conformance, FindsNoFaultInRegisteredEnvironments) {
  ConformanceOptions options;
  options.has_chance = GetParam() != "CliffWalking-v1";  // one start and no chance
  EXPECT_EQ(report_of(by_name(GetParam()), options).findings(), Problems());
}

INSTANTIATE_TEST_SUITE_P(Registry, Conformance, ::testing::ValuesIn(all_ids()), name_of);

TEST(Conformance, FindsNoFaultInHover) {
  const MakeEnvs hover = [](const VecEnvOptions& options) {
    EnvSpec spec = Hover::spec(Hover::Params{});
    spec.set_time_limit(options.max_episode_steps);
    return std::make_unique<BatchedEnv<Hover>>(Hover::Params{}, spec, options);
  };
  EXPECT_EQ(report_of(hover).findings(), Problems());
}

template <class Env>
MakeEnvs batched() {
  return [](const VecEnvOptions& options) {
    EnvSpec spec = Env::spec(typename Env::Params{});
    spec.set_time_limit(options.max_episode_steps);
    return std::make_unique<BatchedEnv<Env>>(typename Env::Params{}, spec, options);
  };
}

// A wrapper forwards everything.
template <class Env>
MakeEnvs forwarded() {
  return [](const VecEnvOptions& options) {
    return std::make_unique<ForwardingVecEnv>(batched<Env>()(options));
  };
}

TEST(Conformance, FindsNoFaultInAnyObservationType) {
  EXPECT_EQ(report_of(batched<Catch>()).findings(), Problems());
  EXPECT_EQ(report_of(batched<Windy>()).findings(), Problems());
  EXPECT_EQ(report_of(forwarded<Catch>()).findings(), Problems());
  EXPECT_EQ(report_of(forwarded<Windy>()).findings(), Problems());
}

TEST(Conformance, FindsNoFaultInStrataAndDisturbances) {
  const Overrides keys = {{"strata.short.half_length", "0.2..0.4"},
                          {"strata.long.half_length", "1..2"},
                          {"disturb.action_delay", "2"},
                          {"disturb.push_interval", "5"}};
  EXPECT_EQ(report_of(by_name("CartPole-v1", keys)).findings(), Problems());
}

// Wrappers of CartPole with one fault each.
using Break = std::function<void(VecEnv& inner, int begin, int end, const StepRows& rows)>;

class WrongStep final : public ForwardingVecEnv {
 public:
  WrongStep(std::unique_ptr<VecEnv> inner, Break step)
      : ForwardingVecEnv(std::move(inner)), step_(std::move(step)) {}
  Status step(int begin, int end, const StepRows& rows) override {
    step_(inner(), begin, end, rows);
    return {};
  }

 private:
  Break step_;
};

class WrongObserve final : public ForwardingVecEnv {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  void observe(int begin, int end, ObservationRows rows) const override {
    ForwardingVecEnv::observe(begin, end, rows);
    rows.floats()[0] += 0.5f;
  }
};

class WrongObserveCritic final : public ForwardingVecEnv {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  void observe_critic(int begin, int end, ObservationRows rows) const override {
    ForwardingVecEnv::observe_critic(begin, end, rows);
    rows.floats()[0] += 0.5f;
  }
};

class Forgetful final : public ForwardingVecEnv {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  void append_state(const std::string&, std::vector<TensorRef>&) override {}
};

class Miscounting final : public ForwardingVecEnv {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  std::int64_t episode_step(int env) const override {
    return 1 + ForwardingVecEnv::episode_step(env);
  }
  int max_truncations(int) const override { return 1; }
};

// fact: a piece of the expected finding.
void expect_found(const MakeEnvs& make, const std::string& fact) {
  const Problems found = report_of(make).findings();
  const auto has_fact = [&](const std::string& finding) {
    return finding.find(fact) != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), has_fact))
      << fact << ", in " << ::testing::PrintToString(found);
}

MakeEnvs broken(const Break& after) {
  return [after](const VecEnvOptions& options) {
    return std::make_unique<WrongStep>(
        make("CartPole-v1", options),
        [after](VecEnv& inner, int begin, int end, const StepRows& rows) {
          ASSERT_TRUE(inner.step(begin, end, rows).ok());
          after(inner, begin, end, rows);
        });
  };
}

template <class Env>
MakeEnvs around() {
  return [](const VecEnvOptions& options) {
    return std::make_unique<Env>(make("CartPole-v1", options));
  };
}

// CartPole, made with changed options.
MakeEnvs ignoring(const std::function<void(VecEnvOptions&)>& change) {
  return [change](VecEnvOptions options) {
    change(options);
    return make("CartPole-v1", options);
  };
}

TEST(ConformanceFaults, InRowsAreFound) {
  const auto each = [](const std::function<void(const StepRows&, int k)>& change) {
    return broken([change](VecEnv&, int begin, int end, const StepRows& rows) {
      for (int k = 0; k < end - begin; ++k) change(rows, k);
    });
  };
  expect_found(each([](const StepRows& rows, int k) { rows.rewards[k] /= 0.0f; }), "reward");
  expect_found(each([](const StepRows& rows, int k) { rows.observations.floats()[4 * k] = 1e6f; }),
               "an observation is not in its space");
  expect_found(each([](const StepRows& rows, int k) { rows.terminated[k] |= rows.truncated[k]; }),
               "a step is terminated and truncated");
  expect_found(each([](const StepRows& rows, int k) { rows.terminated[k] *= 2; }),
               "an end flag is not 0 or 1");
  expect_found(each([](const StepRows& rows, int k) { rows.truncated[k] = !rows.terminated[k]; }),
               "a step is truncated before the time limit");
  expect_found(each([](const StepRows& rows, int k) { rows.truncated[k] = 0; }),
               "an episode is longer than the time limit");
  expect_found(
      each([](const StepRows& rows, int k) { rows.final_observations.floats()[4 * k] = 0.0f; }),
      "a final observation of an episode that has not ended");
  expect_found(each([](const StepRows& rows, int k) { rows.ends[k].reason = 99; }), "end_reasons");
  expect_found(each([](const StepRows& rows, int k) { rows.ends[k].success = 1; }),
               "`ends` is set");
}

// A counter that shows its step as one of six cells, and `lost` from step 3 on. Masks: each of two
// choices; from step 3 on as `fault` says.
struct LostCell {
  struct Params {
    double lost = 6.0;
    int fault = 0;  // of masks: 1: no valid choice, 2: bytes of 7, 3: none are written, 4: throws
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    std::int32_t step;
  };
  static constexpr auto members = std::tuple{&State::step};

  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "LostCell-v0";
    spec.observation = Space::discrete(6);
    spec.action = Space::discrete(2);
    spec.max_episode_steps = 20;
    return spec;
  }
  static void reset(const Params&, State&, Random&) {}
  static StepResult step(const Params&, State& state, const float*, Random&) {
    state.step += 1;
    return {0.0, 0};
  }
  static void observe(const Params& params, const State& state, float* out) {
    out[0] = state.step < 3 ? static_cast<float>(state.step) : static_cast<float>(params.lost);
  }
  static void valid_actions(const Params& params, const State& state, std::uint8_t* out) {
    const int fault = state.step < 3 ? 0 : params.fault;
    if (fault == 4) throw std::runtime_error("no mask");
    if (fault == 3) return;
    out[0] = out[1] = static_cast<std::uint8_t>(fault == 0 ? 1 : fault == 1 ? 0 : 7);
  }
};

MakeEnvs lost_cells(const LostCell::Params& params) {
  return [params](const VecEnvOptions& options) {
    EnvSpec spec = LostCell::spec(params);
    spec.set_time_limit(options.max_episode_steps);
    return std::make_unique<BatchedEnv<LostCell>>(params, spec, options);
  };
}

TEST(ConformanceFaults, InIndicesAreFound) {
  ConformanceOptions options;
  options.has_chance = false;
  EXPECT_EQ(report_of(lost_cells({.lost = 5.0}), options).findings(), Problems());
  expect_found(lost_cells({}),
               "observe() of LostCell-v0 gave the index 6 for environment 0; "
               "expected a whole number from 0 to 5");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double lost : {6.0, -1.0, 2.5, 1e30, nan}) {
    const std::unique_ptr<VecEnv> envs = lost_cells({.lost = lost})({.num_envs = 2});
    const std::vector<float> actions(2);
    std::vector<float> shown(12), last(12), rewards(2);
    std::vector<std::uint8_t> terminated(2), truncated(2);
    const StepRows rows{actions.data(),    shown.data(),     rewards.data(),
                        terminated.data(), truncated.data(), last.data()};
    for (int t = 0; t < 2; ++t) EXPECT_TRUE(envs->step(0, 2, rows).ok());
    EXPECT_EQ(shown, (std::vector<float>{0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0}));
    EXPECT_EQ(envs->step(0, 2, rows).kind(), ErrorKind::kIo) << lost;
    for (const float number : shown) EXPECT_TRUE(std::isnan(number)) << lost;
  }
}

TEST(ConformanceFaults, InMasksAreFound) {
  ConformanceOptions options;
  options.has_chance = false;
  const ConformanceReport right = report_of(lost_cells({.lost = 5.0}), options);
  const auto is_masks = [](const ConformanceReport::Check& check) {
    return check.name == "action masks";
  };
  const auto check = std::find_if(right.checks.begin(), right.checks.end(), is_masks);
  ASSERT_NE(check, right.checks.end());
  EXPECT_EQ(check->left_out, "");
  expect_found(lost_cells({.lost = 5.0, .fault = 1}), "a state has no valid choice");
  const char* const bytes = "valid_actions() leaves out a byte of the mask, or it is not 0 or 1";
  expect_found(lost_cells({.lost = 5.0, .fault = 2}), bytes);
  expect_found(lost_cells({.lost = 5.0, .fault = 3}), bytes);
  expect_found(lost_cells({.lost = 5.0, .fault = 4}),
               "valid_actions() of LostCell-v0 threw an exception");
}

// The numbers of another row, or none.
TEST(ConformanceFaults, InOtherRowsAreFound) {
  expect_found(broken([](VecEnv&, int, int end, const StepRows& rows) { rows.rewards[end] = 1; }),
               "step() of CartPole-v1 wrote outside its rows; row k belongs to environment begin");
  expect_found(broken([](VecEnv&, int begin, int end, const StepRows& rows) {
                 rows.observations.floats()[4 * (end - begin)] = 1;
               }),
               "step() of CartPole-v1 wrote outside its rows");
  const MakeEnvs lost = [](const VecEnvOptions& options) {
    return std::make_unique<WrongStep>(
        make("CartPole-v1", options), [](VecEnv& inner, int begin, int end, const StepRows& rows) {
          std::vector<float> rewards(static_cast<std::size_t>(end - begin));
          StepRows others = rows;
          others.rewards = rewards.data();
          ASSERT_TRUE(inner.step(begin, end, others).ok());
        });
  };
  expect_found(lost, "a step of CartPole-v1 did not write the reward of environment 0");
}

TEST(ConformanceFaults, InFinalObservationsAreFound) {
  const auto with_finals = [](bool first_of_the_next) {
    return [=](const VecEnvOptions& options) {
      return std::make_unique<WrongStep>(make("CartPole-v1", options), [=](VecEnv& inner, int begin,
                                                                           int end,
                                                                           const StepRows& rows) {
        std::vector<float> lost(4 * (end - begin));
        StepRows others = rows;
        others.final_observations = lost.data();
        ASSERT_TRUE(inner.step(begin, end, others).ok());
        for (int k = 0; first_of_the_next && k < end - begin; ++k) {
          if ((rows.terminated[k] | rows.truncated[k]) == 0) continue;
          rows.observations.offset_by(4 * k).copy_to(rows.final_observations.offset_by(4 * k), 4);
        }
      });
    };
  };
  expect_found(with_finals(false), "no final observation of an ended episode");
  expect_found(with_finals(true), "is not the ended episode's last");
}

TEST(ConformanceFaults, InRangesStateAndCountsAreFound) {
  expect_found(broken([](VecEnv&, int begin, int, const StepRows& rows) {
                 rows.rewards[0] += static_cast<float>(begin);
               }),
               "a step depend on its range");
  expect_found(around<WrongObserve>(), "observe() differs");
  expect_found(around<Forgetful>(), "append_state()");
  const MakeEnvs wrong = [](const VecEnvOptions& options) {
    return std::make_unique<WrongObserveCritic>(batched<Windy>()(options));
  };
  expect_found(wrong, "observe_critic() differs");
  const MakeEnvs lost = [](const VecEnvOptions& options) {
    return std::make_unique<WrongStep>(
        batched<Windy>()(options), [](VecEnv& inner, int begin, int end, const StepRows& rows) {
          std::vector<float> finals(static_cast<std::size_t>(end - begin) * 3);
          StepRows others = rows;
          others.final_critic_observations = finals.data();
          ASSERT_TRUE(inner.step(begin, end, others).ok());
        });
  };
  expect_found(lost, "no final observation of an ended episode");
  expect_found(around<Miscounting>(), "episode_step()");
  expect_found(around<Miscounting>(), "max_truncations()");
}

// The first steps of the first episodes have no fault.
TEST(ConformanceFaults, InLaterEpisodesOfAFamilyAreFound) {
  const auto after_an_end = [](const std::function<void(const StepRows&, int env, int k)>& change) {
    return broken([change](VecEnv&, int begin, int end, const StepRows& rows) {
      for (int k = 0; k < end - begin; ++k) {
        if ((rows.terminated[k] | rows.truncated[k]) != 0) change(rows, begin + k, k);
      }
    });
  };
  const char* const differ = "one seed family";
  expect_found(after_an_end([](const StepRows& rows, int env, int k) {
                 rows.rewards[k] += static_cast<float>(env);
               }),
               differ);
  expect_found(after_an_end([](const StepRows& rows, int env, int k) {
                 rows.observations.floats()[4 * k] += 0.01f * static_cast<float>(env);
               }),
               differ);
  expect_found(after_an_end([](const StepRows& rows, int env, int k) {
                 rows.final_observations.floats()[4 * k] += 0.01f * static_cast<float>(env);
               }),
               differ);
}

TEST(ConformanceFaults, InOptionsAreFound) {
  expect_found([](const VecEnvOptions&) { return nullptr; }, "null");
  expect_found(ignoring([](VecEnvOptions& options) { options.num_envs = 3; }), "num_envs()");
  expect_found(ignoring([](VecEnvOptions& options) { options.max_episode_steps = 0; }),
               "max_episode_steps");
  expect_found(ignoring([](VecEnvOptions& options) { options.seed = 1; }), "--no_chance");
  expect_found(ignoring([](VecEnvOptions& options) { options.streams = StreamSet::kTraining; }),
               "evaluation and training");
  const auto instead_of_panels = [](StreamSet streams) {
    return ignoring([streams](VecEnvOptions& options) {
      if (options.streams == StreamSet::kPanel) options.streams = streams;
    });
  };
  expect_found(instead_of_panels(StreamSet::kTraining), "panels and training");
  expect_found(instead_of_panels(StreamSet::kEvaluation), "panels and evaluation");
  expect_found(ignoring([](VecEnvOptions& options) { options.seed_families = 0; }),
               "one seed family");
  expect_found(ignoring([](VecEnvOptions& options) { options.seed_families = 1; }),
               "different seed families");
  int made = 0;
  expect_found(ignoring([&](VecEnvOptions& options) { options.seed = ++made; }),
               "the same seed gives different steps");
}

// Finds a check by a part of its name.
const ConformanceReport::Check& check_of(const ConformanceReport& report, const std::string& part) {
  for (const ConformanceReport::Check& check : report.checks) {
    if (check.name.find(part) != std::string::npos) return check;
  }
  ADD_FAILURE() << "no check " << part;
  return report.checks.front();
}

template <class Env, class... Arguments>
ConformanceReport report_around(Arguments... arguments) {
  return report_of([=](const VecEnvOptions& options) {
    return std::make_unique<Env>(make("CartPole-v1", options), "CartPole-v1", arguments...);
  });
}

TEST(ConformanceOfSimulators, SkipsWhatTheyCannotDo) {
  const ConformanceReport whole = report_around<WholeBatch>();
  EXPECT_EQ(whole.findings(), Problems());
  EXPECT_NE(check_of(whole, "steps do not depend on ranges").left_out, "");
  EXPECT_EQ(check_of(whole, "the same seed").left_out, "");
  const ConformanceReport varying = report_around<Varying>();
  EXPECT_EQ(varying.findings(), Problems());
  EXPECT_NE(check_of(varying, "the same seed").left_out, "");
  EXPECT_NE(check_of(varying, "seeds, streams").left_out, "");
  const ConformanceReport finals = report_around<WithoutFinals>();
  EXPECT_EQ(finals.findings(), Problems());
  EXPECT_NE(check_of(finals, "final observations").left_out, "");
  EXPECT_EQ(report_around<Serialising>().findings(), Problems());
  EXPECT_EQ(report_around<Unsaved>(true).findings(), Problems());
}

TEST(ConformanceOfSimulators, FindsTheirFaults) {
  const Problems lost = report_around<Unsaved>(false).findings();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_NE(lost[0].find("begin_anew()"), std::string::npos);
  for (const bool whole : {false, true}) {
    const Problems failing = report_around<Failing>(std::int64_t{30}, whole).findings();
    ASSERT_FALSE(failing.empty());
    EXPECT_NE(failing[0].find("worker 3 has died"), std::string::npos);
  }
  for (const std::string function : {"observe", "append_state", "another"}) {
    const Problems thrown = report_around<ThrowingElsewhere>(function, 0, false).findings();
    ASSERT_FALSE(thrown.empty()) << function;
    EXPECT_EQ(thrown[0].find(function + "() of CartPole-v1 threw an exception"), 0u) << thrown[0];
  }
}

// Such as those of a Python function of num_envs.
TEST(ConformanceOfSimulators, MaySetTheirTimeLimitThemselves) {
  const ConformanceReport report =
      check_vec_env([](const VecEnvOptions& asked) -> Result<std::unique_ptr<VecEnv>> {
        if (asked.max_episode_steps != 0) return invalid("this limit is ours");
        return Result<std::unique_ptr<VecEnv>>(make("CartPole-v1", asked));
      });
  EXPECT_EQ(report.findings(), Problems());
  EXPECT_EQ(report.checks.front().unchecked,
            "a requested time limit, which they refuse: this limit is ours");
  EXPECT_NE(check_of(report, "final observations of ended").left_out, "");
  EXPECT_EQ(check_of(report, "episodes end").left_out, "");
}

// begin_anew() changes the seed.
class BegunWith final : public ForwardingVecEnv {
 public:
  using Seeds = std::function<std::uint64_t(std::uint64_t asked)>;
  BegunWith(std::unique_ptr<VecEnv> inner, Seeds seeds)
      : ForwardingVecEnv(std::make_unique<Unsaved>(std::move(inner), "CartPole-v1", true)),
        seeds_(std::move(seeds)) {}
  Status begin_anew(std::uint64_t seed) override {
    return ForwardingVecEnv::begin_anew(seeds_(seed));
  }

 private:
  Seeds seeds_;
};

TEST(ConformanceOfSimulators, FindsSeedsThatNewEpisodesIgnore) {
  const auto begun_with = [](const BegunWith::Seeds& seeds) {
    return [seeds](const VecEnvOptions& options) {
      return std::make_unique<BegunWith>(make("CartPole-v1", options), seeds);
    };
  };
  const char* const other = "begin_anew() gives different steps than new environments";
  expect_found(begun_with([](std::uint64_t) { return 3u; }), other);
  int times = 0;
  expect_found(begun_with([&](std::uint64_t) { return ++times; }),
               "two begin_anew() with the same seed");
}

// Declares a context value in [-1, 1] and reports `number`.
class Given final : public ForwardingVecEnv, public AuditContext {
 public:
  Given(std::unique_ptr<VecEnv> inner, double number)
      : ForwardingVecEnv(std::move(inner)), spec_(ForwardingVecEnv::spec()), number_(number) {
    spec_.context = {{"speed, m/s", -1.0, 1.0}};
  }
  const EnvSpec& spec() const override { return spec_; }
  void context(int env, std::span<double> out) const override {
    if (number_ != 0.0) out[0] = env == 3 ? number_ : 1.0;
  }

 private:
  EnvSpec spec_;
  double number_;  // of environment 3; 0: write nothing
};

TEST(ConformanceOfSimulators, ChecksContextValues) {
  EXPECT_NE(check_of(report_of(by_name("CartPole-v1")), "context").left_out, "");
  const auto given = [](double number) {
    return [number](const VecEnvOptions& options) {
      return std::make_unique<Given>(make("CartPole-v1", options), number);
    };
  };
  EXPECT_EQ(report_of(given(-0.5)).findings(), Problems());
  EXPECT_EQ(report_of(batched<Commanded>()).findings(), Problems());
  const char* const none = "context() leaves out a value";
  expect_found(given(0.0), none);
  expect_found(given(std::numeric_limits<double>::quiet_NaN()), none);
  expect_found(given(std::numeric_limits<double>::infinity()), none);
  expect_found(given(1.5), "outside its range in spec().context");
}

// Serialises itself, but capture() leaves old bytes.
class Uncaptured final : public ForwardingVecEnv {
 public:
  explicit Uncaptured(std::unique_ptr<VecEnv> inner)
      : ForwardingVecEnv(std::make_unique<Serialising>(std::move(inner), "CartPole-v1")) {}
  Status capture() override { return {}; }
};

// Has a state tensor that is shared by all environments.
class Shared final : public ForwardingVecEnv {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    ForwardingVecEnv::append_state(prefix, out);
    out.push_back({prefix + ".clock", Dtype::kI64, {1}, &clock_});
  }

 private:
  std::int64_t clock_ = 0;
};

TEST(ConformanceOfSimulators, FindsFaultsOfState) {
  EXPECT_FALSE(check_of(report_of(around<Uncaptured>()), "state saved").findings.empty());
  expect_found(around<Shared>(), "e.clock");
}

// Declares a measure and sums it wrongly or not at all.
class WrongSums final : public ForwardingVecEnv, public StepCounter {
 public:
  enum Fault { kSilent, kEndless, kByRange };
  WrongSums(std::unique_ptr<VecEnv> inner, Fault fault)
      : ForwardingVecEnv(std::move(inner)), spec_(ForwardingVecEnv::spec()), fault_(fault) {
    spec_.measures = {{"steps", ""}};
  }
  const EnvSpec& spec() const override { return spec_; }
  Status step(int begin, int end, const StepRows& rows) override {
    sum_ += 1.0;
    return ForwardingVecEnv::step(begin, end, rows);
  }
  void take_step_sums(int, std::span<double> out) override {
    if (fault_ == kSilent) return;
    out[0] = fault_ == kEndless ? 1.0 : sum_;
    if (fault_ == kByRange) sum_ = 0.0;
  }

 private:
  EnvSpec spec_;
  Fault fault_;
  double sum_ = 0.0;
};

TEST(ConformanceOfSimulators, ChecksSumsOverSteps) {
  EXPECT_NE(check_of(report_of(by_name("CartPole-v1")), "sums over steps").left_out, "");
  const MakeEnvs counted = [](const VecEnvOptions& options) {
    return std::make_unique<Counted>(make("CartPole-v1", options));
  };
  EXPECT_EQ(check_of(report_of(counted), "sums over steps").left_out, "");
  EXPECT_EQ(report_of(counted).findings(), Problems());
  const auto miscounting = [](WrongSums::Fault fault) {
    return MakeEnvs([=](const VecEnvOptions& options) {
      return std::make_unique<WrongSums>(make("CartPole-v1", options), fault);
    });
  };
  expect_found(miscounting(WrongSums::kSilent), "spec().counted()");
  expect_found(miscounting(WrongSums::kEndless), "take_step_sums() does not reset");
  expect_found(miscounting(WrongSums::kByRange), "take_step_sums() depend on the stepped ranges");
}

TEST(ConformanceOfSimulators, CountsAllocationsIfTheProgramCan) {
  ConformanceOptions options;
  EXPECT_NE(check_of(report_of(by_name("CartPole-v1"), options), "allocate").left_out, "");
  std::int64_t count = 0;
  options.allocations = [&] { return count; };
  EXPECT_EQ(report_of(by_name("CartPole-v1"), options).findings(), Problems());
  options.allocations = [&] { return count += 7; };
  const Problems found = report_of(by_name("CartPole-v1"), options).findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].find("7 allocations in 150 steps"), 0u);
}

}  // namespace
}  // namespace broadloom
