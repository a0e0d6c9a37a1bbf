// Plays one MuJoCo task by commands on standard input, to compare it with Gymnasium: mujoco_oracle
// ID [option=value ...]
//
// In: episodes, each int32 steps, float64 qpos [nq], qvel [nv], float32 actions [steps, A].
// Out: of each episode's start and of each step float32 observation [D], reward, float64 qpos [nq],
// qvel [nv] (those of the next episode where one has ended) and a byte, whether it has.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bridges/bridges.h"
#include "bridges/mujoco/task_envs.h"
#include "broadloom/env/tasks/registry.h"

namespace broadloom {
namespace {

template <class Number>
bool read(Number* out, std::size_t count) {
  return std::fread(out, sizeof(Number), count, stdin) == count;
}
template <class Number>
void write(const Number* numbers, std::size_t count) {
  std::fwrite(numbers, sizeof(Number), count, stdout);
}

int fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}

int serve(const std::string& id, const Overrides& options, std::size_t nq, std::size_t nv) {
  const Result<std::unique_ptr<VecEnv>> made =
      make_vec_env(id, options, {.max_episode_steps = 1 << 30});
  if (!made.ok()) return fail(made.status());
  auto& envs = dynamic_cast<mujoco::TaskEnvs&>(*made.value());
  const auto width = static_cast<std::size_t>(envs.spec().observation_size());
  std::vector<float> seen(width), last(width),
      action(static_cast<std::size_t>(envs.spec().action_size()));
  std::vector<double> start(nq + nv);
  for (std::int32_t steps = 0; read(&steps, 1) && read(start.data(), start.size());) {
    Status status = envs.place(0, start.data(), start.data() + nq);
    if (!status.ok()) return fail(status);
    float reward = 0.0f;
    std::uint8_t terminated = 0, truncated = 0;
    const auto report = [&](const std::vector<float>& observation) {
      write(observation.data(), width);
      write(&reward, 1);
      write(envs.physics(0) + 1, nq + nv);
      write(&terminated, 1);
    };
    envs.observe(0, 1, seen.data());
    report(seen);
    for (std::int32_t t = 0; t < steps; ++t) {
      if (!read(action.data(), action.size())) return fail(invalid("the actions end early"));
      status = envs.step(
          0, 1, {action.data(), seen.data(), &reward, &terminated, &truncated, last.data()});
      if (!status.ok()) return fail(status);
      report(terminated != 0 ? last : seen);
    }
  }
  return 0;
}

}  // namespace
}  // namespace broadloom

int main(int argc, char** argv) {
  if (argc < 4)
    return std::fprintf(stderr, "usage: mujoco_oracle ID NQ NV [option=value ...]\n"), 2;
  broadloom::register_bridges();
  broadloom::Overrides options;
  for (int i = 4; i < argc; ++i) {
    const std::string word = argv[i];
    options.emplace_back(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
  }
  return broadloom::serve(argv[1], options, std::stoul(argv[2]), std::stoul(argv[3]));
}
