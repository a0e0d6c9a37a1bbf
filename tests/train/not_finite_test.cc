// Checkpoints with NaN somewhere: each reader that takes the tensor names the file and the tensor.
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/evaluate/policy.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/initial_policy.h"
#include "broadloom/train/teacher_policy.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

struct Scene {
  std::string name;
  Overrides keys;
};

void PrintTo(const Scene& scene, std::ostream* out) { *out << scene.name; }

// The last number of a tensor, which is NaN as long as this lives.
class Planted {
 public:
  explicit Planted(const TensorRef& tensor) : tensor_(tensor) {
    if (tensor.dtype == Dtype::kF32) {
      plant(static_cast<float*>(tensor.data));
    } else {
      plant(static_cast<double*>(tensor.data));
    }
  }
  ~Planted() {
    if (tensor_.dtype == Dtype::kF32) {
      static_cast<float*>(tensor_.data)[tensor_.count() - 1] = static_cast<float>(before_);
    } else {
      static_cast<double*>(tensor_.data)[tensor_.count() - 1] = before_;
    }
  }
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;

 private:
  template <class Number>
  void plant(Number* numbers) {
    before_ = static_cast<double>(numbers[tensor_.count() - 1]);
    numbers[tensor_.count() - 1] = std::numeric_limits<Number>::quiet_NaN();
  }

  const TensorRef& tensor_;
  double before_ = 0.0;
};

class NotFinite : public InFolder, public ::testing::WithParamInterface<Scene> {
 protected:
  std::string path() const { return at("checkpoint.safetensors"); }

  Status resumed(const Config& config) const {
    const Result<Checkpoint> checkpoint = read_checkpoint(path());
    if (!checkpoint.ok()) return checkpoint.status();
    const std::unique_ptr<Trainer> trainer = trainer_of(config);
    return restore(checkpoint.value(), *trainer);
  }

  // `eval`, `watch`, `export`.
  Status played() const { return LoadedPolicy::load(find_checkpoint(path()).value()).status(); }

  // --init --init_optimizer.
  Status begun(const Config& config) const {
    const Result<InitialPolicy> policy = read_initial_policy(path(), config.algorithm != "ppo_rnd");
    if (!policy.ok()) return policy.status();
    const std::unique_ptr<Trainer> trainer = trainer_of(config);
    return begin_with(policy.value(), *trainer).status();
  }

  Status taught(const Config& config) const {
    Config student = config;
    student.algorithm = "distill";
    student.teacher = path();
    return make_teacher(student, env_spec(config.env_id, config.env_options).value()).status();
  }

  void expect_named(const Status& status, const std::string& tensor, const char* reader) const {
    EXPECT_EQ(status.kind(), ErrorKind::kCorrupt) << reader << " of " << tensor;
    for (const std::string& word : {path(), "tensor '" + tensor + "': got nan at ["}) {
      EXPECT_NE(status.message().find(word), std::string::npos)
          << reader << " of " << tensor << ": " << status.message();
    }
  }
};

TEST_P(NotFinite, NamesFileAndTensor) {
  Overrides keys{{"num_envs", "4"},
                 {"num_steps", "8"},
                 {"minibatch_size", "16"},
                 {"hidden_sizes", "8"},
                 {"total_timesteps", "640"}};
  const Config config = resolved(add_overrides(keys, GetParam().keys));
  const std::unique_ptr<Trainer> trainer = trainer_of(config);
  run(*trainer, 2);
  std::vector<TensorRef> tensors = trainer->state();
  for (const TensorRef& tensor : trainer->report_state()) tensors.push_back(tensor);
  int planted = 0, found_by_players = 0;
  for (const TensorRef& tensor : tensors) {
    const bool is_real = tensor.dtype == Dtype::kF32 || tensor.dtype == Dtype::kF64;
    if (!is_real || tensor.count() == 0) continue;
    {
      const Planted nan(tensor);
      ASSERT_TRUE(save_checkpoint(path(), *trainer, {}).ok());
    }
    planted += 1;
    expect_named(resumed(config), tensor.name, "resume");
    // These read a part of the file.
    const bool may_teach = config.algorithm == "ppo" && config.recurrent == "none";
    const Status players[] = {played(), begun(config), may_teach ? taught(config) : Status()};
    const char* const readers[] = {"eval", "init", "teacher"};
    for (std::size_t i = 0; i < std::size(players); ++i) {
      if (players[i].ok()) continue;
      expect_named(players[i], tensor.name, readers[i]);
      found_by_players += 1;
    }
  }
  EXPECT_GT(planted, 5);
  EXPECT_GT(found_by_players, 5);
  ASSERT_TRUE(save_checkpoint(path(), *trainer, {}).ok());
  for (const Status& status : {resumed(config), played(), begun(config)}) {
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

const Scene kScenes[] = {
    {"Cart", {{"env_id", "CartPole-v1"}, {"norm_obs", "true"}, {"norm_reward", "true"}}},
    {"Pendulum",
     {{"env_id", "Pendulum-v1"},
      {"norm_value", "running"},
      {"norm_adv", "running"},
      {"proximal_decay", "0.9"},
      {"disturb.action_delay", "2"},
      {"disturb.push_interval", "3"},
      {"env.frame_stack", "2"}}},
    {"Critic",
     {{"env_id", "CartPole-v1"},
      {"norm_obs", "true"},
      {"env.hide_obs", "1,3"},
      {"env.hide_from", "policy"}}},
    {"Memory", {{"env_id", "CartPole-v1"}, {"recurrent", "lstm"}}},
    {"Rnd", {{"env_id", "CartPole-v1"}, {"algorithm", "ppo_rnd"}}},
    {"Strata", {{"env_id", "CartPole-v1"}, {"strata.a.half_length", "0.4..0.6"}}}};

INSTANTIATE_TEST_SUITE_P(All, NotFinite, ::testing::ValuesIn(kScenes),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace broadloom
