// A walk on a line of WALK_CELLS cells, from the middle to either end. Its tasks cover the kinds of
// plug-ins: Discrete observations, bytes, whole batches, resetting itself with and without last
// observations, and states that cannot be saved.
// - WALK_LOSES: without observe_final().
// - WALK_CRITIC: with a critic observation, whose last one is lost.
// - WALK_STALE: observe_final() shows one cell, whatever happened.
// - WALK_SILENT: does not declare the limit of its episodes.
#include <stdlib.h>
#include <string.h>

#include "broadloom/env/plugins/broadloom_plugin.h"

#ifndef WALK_LIMIT
#define WALK_LIMIT 30
#endif
#ifndef WALK_CELLS
#define WALK_CELLS 7
#endif
enum { kCells = WALK_CELLS, kLimit = WALK_LIMIT };

struct kind {
  uint32_t flags;
  int saves, bytes;
};

struct walker {
  int32_t cell, last, age;
  uint64_t random;
};

struct walkers {
  struct kind kind;
  struct walker* all;
  int32_t count;
};

static uint32_t draw(struct walker* walker) {
  walker->random = walker->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(walker->random >> 33);
}

static void begin_episode(struct walker* walker) {
  walker->cell = kCells / 2 - 1 + (int32_t)(draw(walker) % 3);
  walker->age = 0;
}

static int reset(void* simulator, int32_t env, uint64_t key, char* error) {
  struct walker* walker = &((struct walkers*)simulator)->all[env];
  (void)error;
  walker->random = key;
  walker->last = 0;
  begin_episode(walker);
  return BROADLOOM_OK;
}

static int step(void* simulator, int32_t begin, int32_t end, const struct broadloom_step* step,
                char* error) {
  struct walkers* walkers = simulator;
  (void)error;
  for (int32_t k = 0; k < end - begin; ++k) {
    struct walker* walker = &walkers->all[begin + k];
    walker->cell += draw(walker) % 8 == 0 ? 0 : step->choices[k] == 1 ? 1 : -1;
    walker->age += 1;
    const int over = walker->cell <= 0 || walker->cell >= kCells - 1;
    step->rewards[k] = walker->cell >= kCells - 1 ? 1.0f : 0.0f;
    step->terminated[k] = over ? 1 : 0;
    step->reasons[k] = walker->cell <= 0 ? 0 : 1;
    if ((walkers->kind.flags & BROADLOOM_RESETS_ITSELF) == 0) continue;
    step->truncated[k] = !over && walker->age == kLimit;
    if (step->terminated[k] == 0 && step->truncated[k] == 0) continue;
    walker->last = walker->cell;
    begin_episode(walker);
  }
  return BROADLOOM_OK;
}

static void show(const struct walkers* walkers, int32_t cell, int32_t k, void* rows) {
  if (walkers->kind.bytes) {
    uint8_t* row = (uint8_t*)rows + k * kCells;
    memset(row, 0, kCells);
    row[cell] = 1;
  } else {
    ((float*)rows)[k * kCells] = (float)cell;
  }
}

static void observe(void* simulator, int32_t begin, int32_t end, void* rows) {
  const struct walkers* walkers = simulator;
  for (int32_t i = begin; i < end; ++i) show(walkers, walkers->all[i].cell, i - begin, rows);
}

#ifndef WALK_LOSES
static void observe_final(void* simulator, int32_t env, void* row) {
  const struct walkers* walkers = simulator;
#ifdef WALK_STALE
  walkers->all[env].last = 3;
#endif
  show(walkers, walkers->all[env].last, 0, row);
}
#endif

#ifdef WALK_CRITIC
static void observe_critic(void* simulator, int32_t begin, int32_t end, void* rows) {
  for (int32_t i = begin; i < end; ++i)
    ((float*)rows)[i - begin] = (float)((struct walkers*)simulator)->all[i].cell;
}
#endif

// The memory of a GPU is the host's here, as in the emulation of the tests.
static int device(void* simulator, int32_t call, const struct broadloom_device_rows* rows,
                  void* stream, char* error) {
  struct walkers* walkers = simulator;
  (void)stream;
  if (call == BROADLOOM_DEVICE_TAKE || call == BROADLOOM_DEVICE_BRING) return BROADLOOM_OK;
  if (call == BROADLOOM_DEVICE_STEP) {
    int32_t* const choices = malloc((size_t)walkers->count * sizeof(int32_t));
    const struct broadloom_step now = {.choices = choices,
                                       .rewards = rows->rewards,
                                       .terminated = rows->terminated,
                                       .truncated = rows->truncated,
                                       .reasons = rows->reasons,
                                       .successes = rows->successes};
    for (int32_t i = 0; i < walkers->count; ++i) choices[i] = (int32_t)rows->actions[i];
    step(simulator, 0, walkers->count, &now, error);
    free(choices);
    for (int32_t i = 0; i < walkers->count; ++i) {
      if (rows->truncated[i]) show(walkers, walkers->all[i].last, i, rows->final_observations);
    }
  }
  observe(simulator, 0, walkers->count, rows->observations);
  return BROADLOOM_OK;
}

static int get_state(void* simulator, int32_t env, void* bytes, char* error) {
  (void)error;
  memcpy(bytes, &((struct walkers*)simulator)->all[env], sizeof(struct walker));
  return BROADLOOM_OK;
}

static int set_state(void* simulator, int32_t env, const void* bytes, char* error) {
  (void)error;
  memcpy(&((struct walkers*)simulator)->all[env], bytes, sizeof(struct walker));
  return BROADLOOM_OK;
}

static int describe(const struct broadloom_task* task, const struct broadloom_value* options,
                    struct broadloom_spec* spec, char* error) {
  static const char* const kReasons[] = {"left", "right"};
  const struct kind* kind = task->user;
  (void)options;
  (void)error;
  if (kind->bytes) {
    spec->observation = (struct broadloom_space){
        .dtype = BROADLOOM_UINT8, .rank = 1, .shape = {kCells}, .high = 1.0f};
  } else {
    spec->observation =
        (struct broadloom_space){.kind = BROADLOOM_DISCRETE, .rank = 1, .shape = {kCells}};
  }
  spec->action = (struct broadloom_space){.kind = BROADLOOM_DISCRETE, .rank = 1, .shape = {2}};
#ifdef WALK_CRITIC
  spec->critic_observation = (struct broadloom_space){.rank = 1, .shape = {1}, .high = kCells};
#endif
#ifndef WALK_SILENT
  spec->max_episode_steps = kLimit;
#endif
  spec->end_reasons = kReasons;
  spec->num_end_reasons = 2;
  spec->state_size = kind->saves ? sizeof(struct walker) : 0;
  spec->flags = kind->flags;
  return BROADLOOM_OK;
}

static int make(const struct broadloom_task* task, const struct broadloom_value* options,
                int32_t num_envs, void** simulator, char* error) {
  struct walkers* walkers = malloc(sizeof(*walkers));
  (void)options;
  (void)error;
  walkers->kind = *(const struct kind*)task->user;
  walkers->count = num_envs;
  walkers->all = calloc((size_t)num_envs, sizeof(struct walker));
  *simulator = walkers;
  return BROADLOOM_OK;
}

static void destroy(void* simulator) {
  free(((struct walkers*)simulator)->all);
  free(simulator);
}

static const struct kind kPlain = {0, 1, 0}, kWhole = {BROADLOOM_WHOLE_BATCH, 1, 1},
                         kItself = {BROADLOOM_RESETS_ITSELF, 1, 0}, kForgets = {0, 0, 1},
                         kVaries = {BROADLOOM_NOT_DETERMINISTIC, 1, 1},
                         kDevice = {BROADLOOM_WHOLE_BATCH | BROADLOOM_RESETS_ITSELF |
                                        BROADLOOM_STEPS_ON_DEVICE,
                                    1, 1};
static const struct broadloom_task kTasks[] = {
    {.id = "Walk-v0", .summary = "Walk to the right.", .user = &kPlain},
    {.id = "Whole-v0", .user = &kWhole},
    {.id = "Itself-v0", .user = &kItself},
    {.id = "Forgets-v0", .user = &kForgets},
    {.id = "Varies-v0", .user = &kVaries},
    {.id = "Device-v0", .user = &kDevice}};

const struct broadloom_plugin* broadloom_get_plugin(void) {
  static const struct broadloom_plugin kPlugin = {.abi = BROADLOOM_PLUGIN_ABI,
                                                  .name = "walk",
                                                  .version = "1.0",
                                                  .tasks = kTasks,
                                                  .num_tasks = 6,
                                                  .describe = describe,
                                                  .make = make,
                                                  .close = destroy,
                                                  .reset = reset,
                                                  .step = step,
                                                  .observe = observe,
#ifndef WALK_LOSES
                                                  .observe_final = observe_final,
#endif
#ifdef WALK_CRITIC
                                                  .observe_critic = observe_critic,
#endif
                                                  .get_state = get_state,
                                                  .set_state = set_state,
                                                  .device = device};
  return &kPlugin;
}
