// A C++ plug-in that catches no exceptions. Each task throws in one function. TABLE_THROWS:
// broadloom_get_plugin() itself throws.
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "broadloom/env/plugins/broadloom_plugin.h"

namespace {

constexpr int kThrowsFrom = 3;  // steps of an environment
constexpr int kThrower = 2;     // the environment that throws

struct Simulator {
  std::string task;
  std::vector<int> steps;
};

Simulator& simulator_at(void* simulator) { return *static_cast<Simulator*>(simulator); }

void throw_in(const std::string& task, const char* function) {
  if (task == function) throw std::runtime_error("the lamp of " + task + " is out");
}

void throw_late(void* simulator, const char* function, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    if (i == kThrower && simulator_at(simulator).steps[i] >= kThrowsFrom)
      throw_in(simulator_at(simulator).task, function);
  }
}

int describe(const broadloom_task* task, const broadloom_value*, broadloom_spec* spec, char*) {
  static const broadloom_measure kMeasures[] = {{"light", nullptr}};
  static const broadloom_context kContext[] = {{"place", 0.0, 1.0}};
  throw_in(task->id, "Describe-v0");
  spec->observation.rank = spec->action.rank = spec->observation.shape[0] = 1;
  spec->action.kind = BROADLOOM_DISCRETE;
  spec->action.shape[0] = 2;
  if (std::strcmp(task->id, "Critic-v0") == 0) spec->critic_observation = spec->observation;
  if (std::strcmp(task->id, "Final-v0") == 0) spec->flags = BROADLOOM_RESETS_ITSELF;
  if (std::strcmp(task->id, "Device-v0") == 0) {
    spec->flags = BROADLOOM_WHOLE_BATCH | BROADLOOM_RESETS_ITSELF | BROADLOOM_STEPS_ON_DEVICE;
  }
  spec->measures = kMeasures;
  spec->context = kContext;
  spec->num_context = 1;
  spec->num_measures = std::strcmp(task->id, "Device-v0") == 0 ? 0 : 1;  // the host counts them
  return BROADLOOM_OK;
}

int make(const broadloom_task* task, const broadloom_value*, int32_t count, void** out, char*) {
  *out = new Simulator{task->id, std::vector<int>(static_cast<std::size_t>(count))};
  return BROADLOOM_OK;
}

void close_simulator(void* simulator) {
  const std::string task = simulator_at(simulator).task;
  delete static_cast<Simulator*>(simulator);
  throw_in(task, "Close-v0");
}

int reset(void*, int32_t, uint64_t, char*) { return BROADLOOM_OK; }

int step(void* simulator, int32_t begin, int32_t end, const broadloom_step* step, char*) {
  for (int i = begin; i < end; ++i) {
    const bool ends = ++simulator_at(simulator).steps[i] >= kThrowsFrom &&
                      simulator_at(simulator).task == "Final-v0";
    step->rewards[i - begin] = 0.0f;
    step->terminated[i - begin] = ends ? 1 : 0;
  }
  return BROADLOOM_OK;
}

void show(int begin, int end, void* rows) {
  std::memset(rows, 0, static_cast<std::size_t>(end - begin) * sizeof(float));
}

void observe(void* simulator, int32_t begin, int32_t end, void* rows) {
  show(begin, end, rows);
  throw_late(simulator, "Observe-v0", begin, end);
}

void observe_critic(void* simulator, int32_t begin, int32_t end, void* rows) {
  show(begin, end, rows);
  throw_late(simulator, "Critic-v0", begin, end);
}

void observe_final(void* simulator, int32_t env, void* row) {
  show(env, env + 1, row);
  throw_late(simulator, "Final-v0", env, env + 1);
}

void take_step_sums(void* simulator, int32_t env, double* sums) {
  sums[0] = 1.0;
  throw_late(simulator, "Sums-v0", env, env + 1);
}

void context(void* simulator, int32_t env, double* numbers) {
  numbers[0] = 0.5;
  throw_late(simulator, "Context-v0", env, env + 1);
}

int device(void* simulator, int32_t, const broadloom_device_rows*, void*, char*) {
  throw_in(simulator_at(simulator).task, "Device-v0");
  return BROADLOOM_OK;
}

broadloom_task task_of(const char* id) { return {id, "It throws.", nullptr, 0, nullptr}; }

}  // namespace

const broadloom_plugin* broadloom_get_plugin() {
#ifdef TABLE_THROWS
  throw std::runtime_error("no licence of the table");
#endif
  static const broadloom_task kTasks[] = {
      task_of("Describe-v0"), task_of("Observe-v0"), task_of("Critic-v0"), task_of("Final-v0"),
      task_of("Sums-v0"),     task_of("Context-v0"), task_of("Close-v0"),  task_of("Device-v0")};
  static const broadloom_plugin kPlugin = {.abi = BROADLOOM_PLUGIN_ABI,
                                           .name = "throws_everywhere",
                                           .version = "1.0",
                                           .tasks = kTasks,
                                           .num_tasks = 8,
                                           .describe = describe,
                                           .make = make,
                                           .close = close_simulator,
                                           .reset = reset,
                                           .step = step,
                                           .observe = observe,
                                           .observe_critic = observe_critic,
                                           .observe_final = observe_final,
                                           .get_state = nullptr,
                                           .set_state = nullptr,
                                           .take_step_sums = take_step_sums,
                                           .context = context,
                                           .valid_actions = nullptr,
                                           .device = device};
  return &kPlugin;
}
