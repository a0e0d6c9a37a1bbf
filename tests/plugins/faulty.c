// A faulty plug-in with a task for each fault. FAULTY_ABI: the interface version in its table.
// FAULTY_NO_SYMBOL: it exports its table under another name. FAULTY_TWICE: two tasks have one id.
// FAULTY_ID: a task's id has a space.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broadloom/env/plugins/broadloom_plugin.h"

#ifndef FAULTY_ABI
#define FAULTY_ABI BROADLOOM_PLUGIN_ABI
#endif
#ifdef FAULTY_NO_SYMBOL
#define broadloom_get_plugin some_other_function
#endif

static char kSimulator, kFreed;
static const struct broadloom_task* made;
static int steps;
static int* volatile nowhere;

static int is(const char* id) { return made != NULL && strcmp(made->id, id) == 0; }

static int reset(void* simulator, int32_t env, uint64_t key, char* error) {
  (void)simulator, (void)env, (void)key;
  if (!is("ResetFails-v0")) return BROADLOOM_OK;
  snprintf(error, BROADLOOM_ERROR_SIZE, "the motor does not answer");
  return BROADLOOM_FAILED;
}

// Recurses until the stack overflows.
static int sink(volatile char* above, int depth) {
  volatile char here[4096];
  here[0] = above[0];
  return depth < 0 ? 0 : sink(here, depth + 1) + here[0];
}

void throw_in_step(void);  // throws.cc

static int step(void* simulator, int32_t begin, int32_t end, const struct broadloom_step* step,
                char* error) {
  (void)simulator;
  steps += 1;
  for (int32_t k = 0; !is("NoReward-v0") && k < end - begin; ++k)
    step->rewards[k] = is("NotFinite-v0") && steps > 20 ? NAN : 0.0f;
  for (int32_t k = 0; is("Choices-v0") && k < end - begin; ++k) {
    const float* action = step->actions + 2 * k;
    const int is_right = step->choices == NULL && action[1] == 0.0f &&
                         (action[0] == 0.0f || action[0] == 1.0f || action[0] == 2.0f);
    step->rewards[k] = is_right ? action[0] : NAN;
  }
  for (int32_t k = 0; is("Hybrid-v0") && k < end - begin; ++k) {
    const float* action = step->actions + 3 * k;
    const int is_right = step->choices == NULL && (action[0] == 0.0f || action[0] == 1.0f) &&
                         action[1] >= -1.0f && action[1] <= 1.0f && action[2] >= 2.0f;
    step->rewards[k] = is_right ? action[0] + action[2] : NAN;
  }
  for (int32_t k = 0; is("Masked-v0") && k < end - begin; ++k) {
    const int is_valid = step->choices[k] != (begin + k + steps) % 3;
    step->rewards[k] = is_valid ? 1.0f : NAN;
  }
  for (int32_t k = 0; is("Beyond-v0") && k < end - begin; ++k) step->rewards[begin + k] = 1.0f;
  for (int32_t k = 0; is("FarReasons-v0") && k < end - begin; ++k) step->reasons[begin + k] = 0;
  for (int32_t k = 0; is("FarSuccess-v0") && k < end - begin; ++k) step->successes[end + k] = 0;
  if (steps < 3) return BROADLOOM_OK;
  if (is("Crashes-v0")) *nowhere = 1;
  if (is("Aborts-v0")) abort();
  if (is("Sinks-v0")) return sink("", 0);
  if (is("Throws-v0")) throw_in_step();
  if (is("Exits-v0")) exit(0);
  if (is("Reasons-v0")) step->terminated[0] = step->reasons[0] = 1;
  if (is("Truncates-v0")) step->truncated[0] = 1;
  if (is("BothEnds-v0")) step->terminated[0] = step->truncated[0] = 1;
  if (is("CutsEarly-v0")) step->truncated[0] = 1;
  if (is("Silent-v0")) return BROADLOOM_FAILED;
  if (!is("StepFails-v0")) return BROADLOOM_OK;
  snprintf(error, BROADLOOM_ERROR_SIZE, "the belt of cart %d is torn", begin);
  return BROADLOOM_FAILED;
}

static void observe(void* simulator, int32_t begin, int32_t end, void* rows) {
  (void)simulator;
  // A row has 2 x 2 pixels up to 9, one of three choices and a number.
  for (int32_t k = 0; is("Groups-v0") && k < end - begin; ++k) {
    const float row[] = {9.0f, 0.0f, 0.0f, (float)(begin + k), 0.0f, 1.0f, 0.0f, -0.5f};
    memcpy((float*)rows + 8 * k, row, sizeof(row));
  }
  if (is("Groups-v0") || is("Blind-v0") || is("NoIndex-v0")) return;
  memset(rows, 0, (size_t)(end - begin) * sizeof(float));
  if (is("NoCell-v0") && steps > 20) ((float*)rows)[0] = 9.0f;
  if (is("NeverCell-v0")) ((float*)rows)[0] = 9.0f;
  if (is("Afar-v0")) memset((float*)rows + begin, 0, (size_t)(end - begin) * sizeof(float));
  if (is("Longer-v0")) ((float*)rows)[end - begin] = 1.0f;
}

// Leaves the critic's rows as they are.
static void observe_critic(void* simulator, int32_t begin, int32_t end, void* rows) {
  (void)simulator, (void)begin, (void)end, (void)rows;
}

// Environment i excludes one choice, another one in every step.
static void valid_actions(void* simulator, int32_t begin, int32_t end, uint8_t* flags) {
  (void)simulator;
  for (int32_t i = 3 * begin; i < 3 * end; ++i) *flags++ = i % 3 != (i / 3 + steps + 1) % 3;
}

static struct broadloom_plugin plugin;

static int get_state(void* simulator, int32_t env, void* bytes, char* error) {
  (void)simulator, (void)env, (void)error;
  if (is("LongState-v0")) ((char*)bytes)[8] = 1;
  return BROADLOOM_OK;
}

static int set_state(void* simulator, int32_t env, const void* bytes, char* error) {
  (void)simulator, (void)env, (void)bytes;
  if (is("Refuses-v0")) snprintf(error, BROADLOOM_ERROR_SIZE, "no such cart");
  return is("Refuses-v0") ? BROADLOOM_REFUSED : BROADLOOM_FAILED;
}

static int describe(const struct broadloom_task* task, const struct broadloom_value* options,
                    struct broadloom_spec* spec, char* error) {
  spec->observation = (struct broadloom_space){.rank = 1, .shape = {1}};
  spec->action = (struct broadloom_space){.kind = BROADLOOM_DISCRETE, .rank = 1, .shape = {2}};
  if (strcmp(task->id, "NoCell-v0") == 0 || strcmp(task->id, "NeverCell-v0") == 0 ||
      strcmp(task->id, "NoIndex-v0") == 0)
    spec->observation =
        (struct broadloom_space){.kind = BROADLOOM_DISCRETE, .rank = 1, .shape = {1}};
  const struct broadloom_space one = spec->observation;
  if (strcmp(task->id, "BlindCritic-v0") == 0) spec->critic_observation = one;
  if (strcmp(task->id, "CriticRank-v0") == 0)
    spec->critic_observation = (struct broadloom_space){.shape = {3}};
  if (strcmp(task->id, "CutsEarly-v0") == 0)
    spec->flags = BROADLOOM_RESETS_ITSELF, spec->max_episode_steps = 9;
  if (strcmp(task->id, "Frames-v0") == 0) spec->observation.frames = -4;
  if (strcmp(task->id, "Padding-v0") == 0) spec->observation.frame_padding = 7;
  if (strcmp(task->id, "Leading-v0") == 0) spec->action.leading_choices = 1;
  if (strcmp(task->id, "NoBounds-v0") == 0) spec->action.kind = BROADLOOM_BOX;
  static const float kWhole[] = {2.0f, 0.0f}, kHalf[] = {2.0f, 0.5f};
  const int is_half = strcmp(task->id, "HalfChoice-v0") == 0;
  if (is_half || strcmp(task->id, "Choices-v0") == 0) {
    spec->action = (struct broadloom_space){.kind = BROADLOOM_MULTI_DISCRETE,
                                            .rank = 1,
                                            .shape = {2},
                                            .highs = is_half ? kHalf : kWhole};
  }
  static const float kLows[] = {0.0f, -1.0f, 2.0f}, kHighs[] = {1.0f, 1.0f, 5.0f};
  const int is_hybrid = strcmp(task->id, "Hybrid-v0") == 0;
  if (is_hybrid || strcmp(task->id, "NoNumber-v0") == 0 || strcmp(task->id, "NoLows-v0") == 0) {
    spec->action = (struct broadloom_space){.kind = BROADLOOM_HYBRID,
                                            .rank = 1,
                                            .shape = {3},
                                            .lows = kLows,
                                            .highs = kHighs,
                                            .leading_choices = 1};
    if (strcmp(task->id, "NoNumber-v0") == 0) spec->action.leading_choices = 3;
    if (strcmp(task->id, "NoLows-v0") == 0) spec->action.lows = NULL;
  }
  static const struct broadloom_group kGroups[] = {
      {.name = "image", .dtype = BROADLOOM_UINT8, .rank = 3, .shape = {2, 2, 1}, .high = 9.0f},
      {.name = "choice", .kind = BROADLOOM_DISCRETE, .rank = 1, .shape = {3}},
      {.name = "state", .rank = 1, .shape = {1}, .low = -1.0f, .high = 1.0f}};
  static const struct broadloom_group kBad[] = {{.name = "a b", .rank = 1, .shape = {1}},
                                                {.name = "flat"}};
  if (strcmp(task->id, "Groups-v0") == 0)
    spec->observation = (struct broadloom_space){.groups = kGroups, .num_groups = 3};
  if (strcmp(task->id, "BadName-v0") == 0)
    spec->observation = (struct broadloom_space){.groups = kBad, .num_groups = 1};
  if (strcmp(task->id, "BadRank-v0") == 0)
    spec->observation = (struct broadloom_space){.groups = kBad, .num_groups = 2};
  if (strcmp(task->id, "BadCount-v0") == 0)
    spec->observation = (struct broadloom_space){.groups = kBad, .num_groups = 65};
  if (strcmp(task->id, "BothSpaces-v0") == 0)
    spec->observation.groups = kGroups, spec->observation.num_groups = 3;
  if (strcmp(task->id, "NullGroups-v0") == 0)
    spec->observation = (struct broadloom_space){.num_groups = 3};
  if (strcmp(task->id, "CriticGroups-v0") == 0)
    spec->critic_observation = (struct broadloom_space){.groups = kGroups, .num_groups = 3};
  if (strcmp(task->id, "BadAction-v0") == 0)
    spec->action = (struct broadloom_space){.groups = kGroups, .num_groups = 3};
  if (strcmp(task->id, "Masked-v0") == 0) {
    spec->action.shape[0] = 3;
    spec->flags = BROADLOOM_ACTION_MASKS;
  }
  plugin.valid_actions = valid_actions;
  if (strcmp(task->id, "NoMasks-v0") == 0) {
    spec->flags = BROADLOOM_ACTION_MASKS;
    plugin.valid_actions = NULL;
  }
  if (strcmp(task->id, "NoShape-v0") == 0) spec->observation.rank = 0;
  plugin.get_state = strcmp(task->id, "NoState-v0") == 0 ? NULL : get_state;
  const int is_restored = strcmp(task->id, "Refuses-v0") == 0 ||
                          strcmp(task->id, "Forgets-v0") == 0 ||
                          strcmp(task->id, "LongState-v0") == 0;
  if (plugin.get_state == NULL || is_restored) spec->state_size = 8;
  if (strcmp(task->id, "Flags-v0") == 0) spec->flags = 1u << 20;
  if (strcmp(task->id, "HalfDevice-v0") == 0)
    spec->flags = BROADLOOM_STEPS_ON_DEVICE | BROADLOOM_WHOLE_BATCH;
  if (strcmp(task->id, "NoDevice-v0") == 0)
    spec->flags = BROADLOOM_STEPS_ON_DEVICE | BROADLOOM_WHOLE_BATCH | BROADLOOM_RESETS_ITSELF;
  if (strcmp(task->id, "NoReasons-v0") == 0) spec->num_end_reasons = 1;
  if (strcmp(task->id, "NoMeasures-v0") == 0) spec->num_measures = 2;
  if (strcmp(task->id, "Threshold-v0") == 0)
    spec->has_reward_threshold = 1, spec->reward_threshold = NAN;
  if (strcmp(task->id, "Scores-v0") == 0)
    spec->has_score_range = 1, spec->random_score = spec->reference_score = 5.0;
  static const char* const kReasons[] = {"fell", "f\xe9ll"};
  // The list ends where memory does.
  if (strcmp(task->id, "ManyReasons-v0") == 0)
    spec->end_reasons = (const char* const*)nowhere + 8, spec->num_end_reasons = 2;
  if (strcmp(task->id, "Latin-v0") == 0) spec->end_reasons = kReasons, spec->num_end_reasons = 2;
  static const struct broadloom_measure kMeasures[] = {{"off_mark", "m"}};
  static const struct broadloom_context kContext[] = {{"speed, m/s", 0.0, 1.0}};
  if (strcmp(task->id, "NoSums-v0") == 0) spec->measures = kMeasures, spec->num_measures = 1;
  if (strcmp(task->id, "NoContext-v0") == 0) spec->context = kContext, spec->num_context = 1;
  if (strcmp(task->id, "Many-v0") == 0) spec->context = kContext, spec->num_context = 65;
  if (strcmp(task->id, "Wants-v0") != 0) return BROADLOOM_OK;
  if (options[0].integer == 0) {
    snprintf(error, BROADLOOM_ERROR_SIZE, "set env.wait to the seconds between two belts");
    return BROADLOOM_REFUSED;
  }
  if (options[1].integer)
    spec->action = (struct broadloom_space){.rank = 1, .shape = {1}, .low = -1.0f, .high = 1.0f};
  spec->max_episode_steps = (int32_t)options[0].integer;
  return BROADLOOM_OK;
}

static int make(const struct broadloom_task* task, const struct broadloom_value* options,
                int32_t num_envs, void** simulator, char* error) {
  (void)options, (void)num_envs;
  made = task;
  steps = 0;
  if (is("MakeFails-v0")) snprintf(error, BROADLOOM_ERROR_SIZE, "no licence of the simulator");
  if (is("MakeFails-v0")) return BROADLOOM_REFUSED;
  if (is("MakeFrees-v0")) *simulator = &kFreed;
  if (is("MakeFrees-v0")) snprintf(error, BROADLOOM_ERROR_SIZE, "no GPU found");
  if (is("MakeFrees-v0")) return BROADLOOM_FAILED;
  *simulator = is("Nothing-v0") ? NULL : &kSimulator;
  return BROADLOOM_OK;
}

static void destroy(void* simulator) {
  if (simulator == &kFreed) abort();
}

static const struct broadloom_option kWrong[] = {
    {.name = "speed", .type = BROADLOOM_FLOAT, .default_text = "fast"}};
// Refused unless `wait` is set. `box` changes the action space. `library` names code.
static const struct broadloom_option kWants[] = {
    {.name = "wait", .type = BROADLOOM_INT, .default_text = "0"},
    {.name = "box", .type = BROADLOOM_BOOL, .default_text = "false"},
    {.name = "library", .type = BROADLOOM_LIBRARY, .default_text = ""}};
static const struct broadloom_option kSame[] = {
    {.name = "speed", .type = BROADLOOM_FLOAT, .default_text = "1"},
    {.name = "speed", .type = BROADLOOM_FLOAT, .default_text = "2"}};
static const struct broadloom_option kNoLimits[] = {
    {.name = "speed", .type = BROADLOOM_FLOAT, .default_text = "1", .low = NAN, .high = NAN}};
static const struct broadloom_option kUnnamed[] = {
    {.name = "top speed", .type = BROADLOOM_FLOAT, .default_text = "1"}};
static const struct broadloom_task kTasks[] = {
    {.id = "StepFails-v0"},
    {.id = "Silent-v0"},
    {.id = "ResetFails-v0"},
    {.id = "MakeFails-v0"},
    {.id = "Nothing-v0"},
    {.id = "Crashes-v0"},
    {.id = "Aborts-v0"},
    {.id = "Exits-v0"},
    {.id = "NotFinite-v0"},
    {.id = "Reasons-v0"},
    {.id = "Truncates-v0"},
    {.id = "NoBounds-v0"},
    {.id = "NoReward-v0"},
    {.id = "BothEnds-v0"},
    {.id = "CutsEarly-v0"},
    {.id = "Beyond-v0"},
    {.id = "FarReasons-v0"},
    {.id = "FarSuccess-v0"},
    {.id = "Blind-v0"},
    {.id = "NoIndex-v0"},
    {.id = "NeverCell-v0"},
    {.id = "Afar-v0"},
    {.id = "Longer-v0"},
    {.id = "LongState-v0"},
    {.id = "BlindCritic-v0"},
    {.id = "CriticRank-v0"},
    {.id = "Frames-v0"},
    {.id = "Padding-v0"},
    {.id = "Leading-v0"},
    {.id = "BothSpaces-v0"},
    {.id = "NullGroups-v0"},
    {.id = "CriticGroups-v0"},
    {.id = "ManyReasons-v0"},
    {.id = "Choices-v0"},
    {.id = "HalfChoice-v0"},
    {.id = "Masked-v0"},
    {.id = "HalfDevice-v0"},
    {.id = "NoDevice-v0"},
    {.id = "Hybrid-v0"},
    {.id = "NoNumber-v0"},
    {.id = "NoLows-v0"},
    {.id = "NoMasks-v0"},
    {.id = "Groups-v0"},
    {.id = "BadName-v0"},
    {.id = "BadRank-v0"},
    {.id = "BadCount-v0"},
    {.id = "BadAction-v0"},
    {.id = "NoShape-v0"},
    {.id = "NoState-v0"},
    {.id = "NoCell-v0"},
    {.id = "Sinks-v0"},
    {.id = "Throws-v0"},
    {.id = "Latin-v0"},
    {.id = "NoSums-v0"},
    {.id = "NoContext-v0"},
    {.id = "Many-v0"},
    {.id = "MakeFrees-v0"},
    {.id = "Refuses-v0"},
    {.id = "Forgets-v0"},
    {.id = "Flags-v0"},
    {.id = "NoReasons-v0"},
    {.id = "NoMeasures-v0"},
    {.id = "Threshold-v0"},
    {.id = "Scores-v0"},
#ifdef FAULTY_TWICE
    {.id = "Many-v0"},
#endif
#ifdef FAULTY_ID
    {.id = "Two words-v0"},
#endif
    {.id = "Same-v0", .options = kSame, .num_options = 2},
    {.id = "FarOptions-v0", .options = (const struct broadloom_option*)64, .num_options = 1},
    {.id = "NoLimits-v0", .options = kNoLimits, .num_options = 1},
    {.id = "Wants-v0", .summary = "Wants an option.", .options = kWants, .num_options = 3},
    {.id = "Unnamed-v0", .options = kUnnamed, .num_options = 1},
    {.id = "Default-v0", .options = kWrong, .num_options = 1}};

static struct broadloom_plugin plugin = {.abi = FAULTY_ABI,
                                         .name = "faulty",
                                         .version = "1.0",
                                         .tasks = kTasks,
                                         .num_tasks = sizeof(kTasks) / sizeof(kTasks[0]),
                                         .describe = describe,
                                         .make = make,
                                         .close = destroy,
                                         .reset = reset,
                                         .step = step,
                                         .observe = observe,
                                         .observe_critic = observe_critic,
                                         .set_state = set_state,
                                         .valid_actions = valid_actions};

const struct broadloom_plugin* broadloom_get_plugin(void) { return &plugin; }
