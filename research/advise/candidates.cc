#include "research/advise/candidates.h"

#include <cstddef>
#include <iterator>

namespace broadloom {
namespace {

// experiments/advice/tune.toml ran 160 settings on CartPole and Pendulum, on two cores with
// AVX-512. The best have the smallest mean logarithm of the seconds to the threshold. A table that
// was fitted on all tasks was not shown to be better (experiments/advice/refit.py).
constexpr std::string_view kBest =
    "among the 24 best of 160 on CartPole and Pendulum (experiments/advice)";
constexpr std::string_view kLowRate =
    "a small rate, for other tasks; 42nd and 60th of the same 160 (experiments/advice)";
constexpr std::string_view kByHand = "for more cores or other tasks, by hand: no experiment has it";

constexpr CandidateRow kSmallTasks[] = {
    {4, 256, 64, 1, 12, kBest},      {16, 64, 256, 1, 12, kBest},   {16, 256, 256, 1, 12, kBest},
    {64, 64, 64, 1, 4, kBest},       {4, 256, 256, 4, 12, kBest},   {16, 256, 256, 1, 40, kBest},
    {4, 64, 64, 1, 4, kBest},        {16, 256, 64, 1, 12, kBest},   {4, 64, 64, 4, 1, kBest},
    {4, 256, 64, 4, 4, kBest},       {64, 16, 64, 1, 40, kBest},    {16, 16, 64, 4, 4, kBest},
    {256, 16, 1024, 4, 16, kByHand}, {16, 64, 256, 10, 4, kByHand}, {128, 16, 512, 1, 12, kByHand},
    {64, 16, 64, 1, 1, kBest},       {16, 256, 64, 1, 4, kBest},    {16, 256, 256, 1, 4, kBest},
    {4, 256, 256, 4, 4, kBest},      {4, 64, 256, 1, 12, kBest},    {4, 256, 256, 1, 40, kBest},
    {16, 64, 64, 1, 4, kBest},       {64, 16, 64, 1, 4, kBest},     {16, 16, 64, 1, 12, kBest},
    {4, 256, 64, 4, 1, kLowRate},    {16, 64, 64, 4, 1, kLowRate},  {64, 32, 512, 4, 8, kByHand},
    {64, 16, 256, 1, 12, kBest},     {16, 64, 256, 1, 40, kBest},   {16, 16, 64, 1, 4, kBest},
};

// By the greedy rule of experiments/advice/refit.py, and then a setting without a comparison. The
// rate of 3e-4 is the default.
constexpr double kThousandth = 10.0 / 3.0, kSevenTenths = 7.0 / 3.0;
constexpr CandidateRow kRobotTasks[] = {
    {128, 16, 64, 10, kThousandth,
     "least mean loss of five blocks on HalfCheetah and Hopper, five seeds "
     "(experiments/robot-shapes)"},
    {1, 2048, 64, 10, 1,
     "the task's defaults; second of five blocks on two robots (experiments/robot-shapes), and in "
     "training ahead of 8 x 256 over eight tasks (experiments/mujoco)"},
    {32, 64, 64, 10, 1, "third of five blocks on two robots (experiments/robot-shapes)"},
    {8, 256, 64, 10, kThousandth, "fourth of five blocks on two robots (experiments/robot-shapes)"},
    {512, 4, 64, 10, kThousandth,
     "the worst of five blocks on Hopper; on HalfCheetah the largest mean with stagger_by = age "
     "(experiments/robot-shapes)"},
    {128, 24, 768, 5, kSevenTenths,
     "with the rest of configs/quadruped_walk.toml four of five seeds walk "
     "(experiments/first-walk)"},
};

// By the same rule, but for the third: it has runs of another length. The rate of 2.5e-4 is the
// default.
constexpr std::string_view kFewUpdates =
    "half the gradient steps of 8 x 128, and below it on five games (experiments/minatar)";
constexpr std::string_view kMoreSamples =
    "a block of twice the size at equal gradient steps; on two games above 8 x 128 "
    "(experiments/minatar)";
constexpr CandidateRow kGameTasks[] = {
    {128, 8, 256, 4, 1,
     "least loss of four blocks over five of MinAtar's games (experiments/minatar)"},
    {8, 128, 256, 16, 1,
     "the most of eight arms on Breakout and SpaceInvaders (experiments/minatar)"},
    {64, 128, 1024, 4, 20,
     "after ten million steps above gymnax-blines' scores on four games (experiments/minatar)"},
    {8, 128, 256, 4, 1, "CleanRL's settings for Atari, on five games (experiments/minatar)"},
    {8, 128, 256, 8, 1, "28 % more than with four epochs on two games (experiments/minatar)"},
    {512, 32, 64, 4, 4,
     "from one million steps on above 8 x 32 on Breakout, four seeds (experiments/long-budgets)"},
    {16, 128, 256, 4, 1, kMoreSamples},
    {8, 256, 256, 4, 1, kMoreSamples},
    {16, 128, 512, 4, 1, kFewUpdates},
    {8, 256, 512, 4, 1, kFewUpdates},
};

// By measured speeds, and two settings whose learning was measured on a GPU. More than 8,192
// environments are left out: from there on time is in proportion to them on an H100, and on a DGX
// Spark each step takes longer.
constexpr CandidateRow kGpuTasks[] = {
    {4096, 32, 32768, 4, 1,
     "31.2 M steps/s on CartPole on an H100 (bench/gpu); the fastest of 512 to 16,384 worlds for "
     "mjlab on a DGX Spark (pollen-robotics/microduck_rl#2)"},
    {64, 32, 512, 4, 1, "CartPole returns 470 on a GPU, ten seeds (bench/gpu)"},
    {1024, 32, 8192, 4, 1,
     "Breakout by PQN makes 1.99 M steps/s on an H100, 3.65 M with 4,096 (bench/gpu)"},
    {64, 64, 1024, 10, kThousandth, "Pendulum returns -197 on a GPU, ten seeds (bench/gpu)"},
    {2048, 32, 16384, 4, 1,
     "mjlab makes 33,585 steps/s on a DGX Spark, 36,784 with 4,096 "
     "(pollen-robotics/microduck_rl#2)"},
    {8192, 32, 65536, 4, 1,
     "on an H100 CartPole gains up to here (bench/gpu); on a DGX Spark mjlab makes 30,085 steps/s, "
     "36,784 with 4,096 and 19,877 with 16,384 (pollen-robotics/microduck_rl#2)"},
};

constexpr std::string_view kNotForRobots =
    "chosen for CartPole and Pendulum, never trained on a robot (experiments/advice)";
constexpr std::string_view kNotForGames =
    "chosen for CartPole and Pendulum, never trained on images (experiments/advice)";
constexpr std::string_view kNotForGpu =
    "chosen for CartPole and Pendulum on two cores, never timed on a GPU (experiments/advice)";

template <std::size_t Count>
std::vector<CandidateRow> before_small_tasks(const CandidateRow (&rows)[Count],
                                             std::string_view why) {
  std::vector<CandidateRow> all(std::begin(rows), std::end(rows));
  for (CandidateRow row : kSmallTasks) {
    row.why = why;
    all.push_back(row);
  }
  return all;
}

}  // namespace

std::vector<CandidateRow> candidate_rows(TaskKind kind) {
  switch (kind) {
    case TaskKind::kRobots:
      return before_small_tasks(kRobotTasks, kNotForRobots);
    case TaskKind::kGames:
      return before_small_tasks(kGameTasks, kNotForGames);
    case TaskKind::kGpu:
      return before_small_tasks(kGpuTasks, kNotForGpu);
    case TaskKind::kSmall:
      break;
  }
  return {std::begin(kSmallTasks), std::end(kSmallTasks)};
}

TaskKind kind_of(const Config& config, const EnvSpec& spec) {
  if (config.device != "cpu") return TaskKind::kGpu;
  const Space& seen = spec.observation;
  if (seen.dtype == Dtype::kU8 && seen.extents().size() > 1) return TaskKind::kGames;
  return spec.engine.starts_with("MuJoCo ") ? TaskKind::kRobots : TaskKind::kSmall;
}

}  // namespace broadloom
