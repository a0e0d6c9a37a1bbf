// A simulator for Broadloom in plain C (C11 or C++), as a shared library that is loaded at run
// time:
//
//   cc -O2 -shared -fPIC -I PREFIX/include -o libmine.so mine.c
//   broadloom train --env_id plugin:./libmine.so:Task-v0
//
// This header is all that a plug-in needs: nothing is linked. It exports one function,
// broadloom_get_plugin(), which gives a table. docs/plugins.md has an example step by step.
//
// Who does what. The plug-in makes N environments, resets one, steps some, shows them. Broadloom
// counts steps, cuts episodes at the time limit, resets those that have ended, keeps their last
// observation apart, draws keys, and saves and restores the states that the plug-in gives it.
//
// Memory belongs to who made it: arrays that Broadloom hands over are written to or read during the
// call alone. Row k of an array is of environment begin + k; rows follow each other without gaps.
//
// Errors are values: a function that may fail gives BROADLOOM_OK, or another number after it has
// written what happened, for the person at the terminal, into `error` (BROADLOOM_ERROR_SIZE bytes,
// ended by a 0). Never print, exit, or throw through these functions.
//
// Threads. describe(), make() and close() are called one at a time. All others of one simulator may
// be called at the same time for different environments, unless BROADLOOM_WHOLE_BATCH is set; those
// of two simulators always may. What becomes of an environment must not depend on which others are
// stepped with it.
#ifndef BROADLOOM_PLUGIN_H
#define BROADLOOM_PLUGIN_H

// Names and headers as C has them. NOLINTBEGIN(readability-identifier-naming,modernize-*)
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of this header. A library that was compiled against another one is refused.
#define BROADLOOM_PLUGIN_ABI 2
// Bytes of an error's text, with the 0 at its end.
#define BROADLOOM_ERROR_SIZE 512

// Results of functions that may fail.
enum broadloom_result {
  BROADLOOM_OK = 0,
  BROADLOOM_REFUSED = 1,  // what was asked for cannot be had: a value of an option, say
  BROADLOOM_FAILED = 2    // the simulator, the machine or another process has failed
};

// Options ----------------------------------------------------------------------------------------

// Types of options.
enum broadloom_option_type {
  BROADLOOM_BOOL = 0,
  BROADLOOM_INT = 1,
  BROADLOOM_FLOAT = 2,
  BROADLOOM_TEXT = 3,
  BROADLOOM_LIBRARY = 4  // TEXT that names code, which the plug-in loads, or a folder with it. A
                         // path from a file, as of a run's record, is refused unless the person at
                         // the program allows it
};

// One that users may set: --env.<name> VALUE. Broadloom reads the text, holds it to type and range,
// and refuses names that are not in the table.
struct broadloom_option {
  const char* name;          // letters, digits and _
  int32_t type;              // broadloom_option_type
  const char* default_text;  // "9.8", "true", "easy"
  double low, high;          // INT and FLOAT: the least and the greatest; both 0: any
  const char* choices;       // TEXT: "easy|hard", the only ones; NULL: any
  const char* doc;           // one line, for `broadloom env show`
};

// What an option is set to, or its default. Which member holds it depends on its type.
struct broadloom_value {
  int64_t integer;   // INT; of BOOL 0 or 1
  double number;     // FLOAT
  const char* text;  // TEXT and LIBRARY; valid during the call
};

// Tasks ------------------------------------------------------------------------------------------

// Ids have letters, digits, '-', '_' and '.', and a version: "Cart-v0".
struct broadloom_task {
  const char* id;                          // new in this plug-in
  const char* summary;                     // one line
  const struct broadloom_option* options;  // [num_options]
  int32_t num_options;                     // 0: none
  const void* user;                        // the plug-in's own: what tells its tasks apart
};

// Kinds of spaces.
enum broadloom_space_kind { BROADLOOM_BOX = 0, BROADLOOM_DISCRETE = 1 };
// Types of the numbers of observations.
enum broadloom_dtype { BROADLOOM_FLOAT32 = 0, BROADLOOM_UINT8 = 1 };
// Fill for the frames before an episode's first one: that frame, or zeros.
enum broadloom_padding { BROADLOOM_PAD_FIRST = 0, BROADLOOM_PAD_ZERO = 1 };

// A Box is an array of numbers with bounds, a Discrete one of 0 .. n-1.
struct broadloom_space {
  int32_t kind;      // broadloom_space_kind
  int32_t dtype;     // BROADLOOM_UINT8: observations that are a Box, such as pixels; else FLOAT32
  int32_t rank;      // numbers in shape, 1 to 4; 0: there is no such space
  int32_t shape[4];  // row-major; images: {height, width, channels}; Discrete: {n}
  // Bounds of every number of a Box; both 0: -infinity to infinity, and 0 to 255 of UINT8. Actions
  // are clipped to them.
  float low, high;
  const float *lows, *highs;  // [size] instead, where they differ; NULL: low and high
  // UINT8 images that are the last `frames` frames of the episode, the newest last among the
  // channels; 0 or 1: they are none. (A task that shows one frame can be stacked by users.)
  int32_t frames;
  int32_t frame_padding;  // broadloom_padding: what stands for frames before the first
};

// Abilities and limits of a simulator.
enum broadloom_flags {
  // step() is called for all N environments alone, and no two calls of a simulator at once.
  // (observe..(), reset() and states may still be asked of single ones.)
  BROADLOOM_WHOLE_BATCH = 1,
  // The same options, keys and actions do not give the same bits again.
  BROADLOOM_NOT_DETERMINISTIC = 2,
  // An environment whose episode ends within step() is in its next episode when step() returns:
  // observe() shows that one's first observation, and reset() is called only at the start and where
  // Broadloom cuts an episode. Without observe_final() the last observations are lost.
  BROADLOOM_RESETS_ITSELF = 4,
  // The same bits on every processor: no function of the C library's mathematics has a part, and no
  // a*b+c is fused by the compiler (-ffp-contract=off). Without, records say `own` of a run's bits.
  BROADLOOM_COMMON_BITS = 8
};

// What the reward is made of: the sum of weight * term.
struct broadloom_reward_term {
  const char* name;  // letters, digits, '-', '_' and '.'
  double weight;     // that the term is multiplied by
};

// What is measured in each step beside the reward: how far off a command an environment is, say.
// Reports, evaluations and panels show the mean over steps.
struct broadloom_measure {
  const char* name;  // letters, digits, '-', '_' and '.'
  const char* unit;  // "m/s"; NULL: none
};

// A number that an environment is given and that differs between environments: a command, a place
// on the ground. The audit looks at whether they are given different ones.
struct broadloom_context {
  const char* name;  // with its unit
  double low, high;  // that it is drawn from; equal: always this number
};

// What a task is under given options. All is 0 when describe() is called; what it points to must
// live until the next call of describe().
struct broadloom_spec {
  struct broadloom_space observation;         // what the policy reads
  struct broadloom_space critic_observation;  // a Box that only the critic reads; rank 0: none
  struct broadloom_space action;              // FLOAT32 Box, or Discrete
  int32_t max_episode_steps;  // the task's time limit, which users may change; 0: none
  // Why episodes end by themselves; NULL: one reason, "terminated". (A time limit is added.)
  const char* const* end_reasons;
  int32_t num_end_reasons;  // at most 126
  int32_t names_success;    // not 0: step() says which episodes succeeded
  int32_t has_score_range;  // not 0: the two mean returns that studies map to 0 and 1, under these
                            // options
  double random_score;      // of uniformly random actions
  double reference_score;   // of a good policy
  int32_t has_reward_threshold;  // not 0: the next one is meant
  double reward_threshold;       // from which the task counts as solved
  const char* upstream;          // whose dynamics these are, with version; NULL: the plug-in's own
  int64_t state_size;            // bytes of an environment's state, at most; 0: it cannot be saved
  uint32_t flags;                // broadloom_flags
  const struct broadloom_reward_term* reward_terms;  // for records; NULL: not said
  int32_t num_reward_terms;                          // at most 64, as of the two below
  const struct broadloom_measure* measures;          // NULL: nothing is measured
  int32_t num_measures;                              // numbers that each step adds to
  const struct broadloom_context* context;           // NULL: not said
  int32_t num_context;                               // numbers that context() writes
  // Worlds that are made from seeds and met again and again, such as the levels of a game: seeds
  // from first_world on. The audit looks at whether a panel is played in worlds of training.
  uint64_t first_world, num_worlds;  // 0 worlds: there are none, or it is not said
};

// Stepping ---------------------------------------------------------------------------------------

// Of environments [begin, end), k = end - begin. Arrays of bytes hold zeros when step() is called.
struct broadloom_step {
  const float* actions;    // [k, A] within the bounds; NULL where actions are Discrete
  const int32_t* choices;  // [k] from 0 to n-1; NULL where they are a Box
  float* rewards;          // [k] out, finite
  uint8_t* terminated;     // [k] out: 1: the episode has ended by itself
  // [k] out: 1: the episode was cut by a limit of the simulator's own, no sooner than
  // max_episode_steps. Only with BROADLOOM_RESETS_ITSELF; all others leave limits to Broadloom.
  uint8_t* truncated;
  uint8_t* reasons;    // [k] out: of what terminated, its place in end_reasons
  uint8_t* successes;  // [k] out: 1: an episode that ends here, however it does, has succeeded
};

// The table. Functions without "may be NULL" must be there.
struct broadloom_plugin {
  uint32_t abi;         // BROADLOOM_PLUGIN_ABI; the first member in every version of this header
  const char* name;     // of the plug-in, one line
  const char* version;  // of the plug-in: stands in the records of runs
  const struct broadloom_task* tasks;  // [num_tasks]
  int32_t num_tasks;                   // at least 1

  // Fills in the spec. options: [task->num_options], in the table's order, here and in make().
  // Called often; cheap. REFUSED: values that do not go together.
  int (*describe)(const struct broadloom_task* task, const struct broadloom_value* options,
                  struct broadloom_spec* spec, char* error);
  // Makes num_envs environments; each is reset before anything else is asked of it.
  int (*make)(const struct broadloom_task* task, const struct broadloom_value* options,
              int32_t num_envs, void** simulator, char* error);
  // Frees what make() made.
  void (*close)(void* simulator);
  // Begins an episode. All chance of the episode must follow from the key: seed a generator of the
  // environment's own with it, which is part of its state. Keys differ by run seed, purpose
  // (training, evaluation, panels), environment or seed family, and episode.
  int (*reset)(void* simulator, int32_t env, uint64_t key, char* error);
  // One action each.
  int (*step)(void* simulator, int32_t begin, int32_t end, const struct broadloom_step* step,
              char* error);
  // Writes the observations as they stand after reset(), step() or set_state(), as often as it is
  // asked. rows: float [k, D] or uint8_t [k, D], as the spec says. Discrete: the rows are
  // float [k, n], of which only the first number of each is to be written, the index.
  void (*observe)(void* simulator, int32_t begin, int32_t end, void* rows);
  // The same of critic_observation. May be NULL where there is none.
  void (*observe_critic)(void* simulator, int32_t begin, int32_t end, void* rows);
  // With BROADLOOM_RESETS_ITSELF: the last observation of the episode that ended in the last step()
  // of this environment. May be NULL: it is lost, as it is where there is a critic_observation, of
  // whose last row this says nothing.
  void (*observe_final)(void* simulator, int32_t env, void* row);
  // All that the next steps of an environment depend on, as at most state_size bytes (the rest are
  // zeros), and back, also into environments of another simulator of the same task and options.
  // May be NULL where state_size is 0.
  int (*get_state)(void* simulator, int32_t env, void* bytes, char* error);
  int (*set_state)(void* simulator, int32_t env, const void* bytes, char* error);
  // Sums over the environment's steps since it was last asked, which then begin anew:
  // [num_reward_terms + num_measures], first what each term has paid, weight times term, then each
  // measure. A reset leaves them as they are, and they are no part of the state. May be NULL where
  // nothing is measured: then what each term pays is not known.
  void (*take_step_sums)(void* simulator, int32_t env, double* sums);
  // The spec's context as the environment has it now: [num_context]. May be NULL where there is
  // none.
  void (*context)(void* simulator, int32_t env, double* numbers);
};

#ifdef __GNUC__
__attribute__((visibility("default")))
#endif
// The one symbol that a plug-in exports: its table, which lives as long as the library is loaded.
const struct broadloom_plugin*
broadloom_get_plugin(void);

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming,modernize-*)

#endif  // BROADLOOM_PLUGIN_H
