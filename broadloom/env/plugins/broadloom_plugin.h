// Interface for simulators in plain C (C11 or C++), as shared libraries loaded at run time:
//
//   cc -O2 -shared -fPIC -I PREFIX/include -o libmine.so mine.c
//   broadloom train --env_id plugin:./libmine.so:Task-v0
//
// A plug-in needs only this header and links to nothing. It exports one function,
// broadloom_get_plugin(), which returns a table of functions. docs/plugins.md has a worked example.
//
// Division of work. The plug-in makes N environments, resets and steps them, and writes
// observations. Broadloom counts steps, truncates episodes at the time limit, resets ended
// environments, and keeps their last observations. It also draws the keys for resets, and saves and
// restores the states that the plug-in returns.
//
// Memory. Each side frees what it allocated. Use Broadloom's arrays only during the call, except
// those of device(). Row k of an array belongs to environment begin + k. Rows are contiguous.
//
// Errors. A function that may fail returns BROADLOOM_OK or another broadloom_result. Before it
// returns an error, it writes a message for the user into `error` (at most BROADLOOM_ERROR_SIZE
// bytes, with the final 0). Functions must not print, exit or throw.
//
// Threads. Broadloom calls describe(), make() and close() one at a time. It may call all other
// functions concurrently, for different simulators or for different environments of one simulator.
// With BROADLOOM_WHOLE_BATCH, calls of one simulator never overlap. Results of an environment must
// not depend on which others are stepped with it.
#ifndef BROADLOOM_PLUGIN_H
#define BROADLOOM_PLUGIN_H

// C naming and headers. NOLINTBEGIN(readability-identifier-naming,modernize-*)
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Version of this header. Broadloom refuses libraries compiled with another version.
#define BROADLOOM_PLUGIN_ABI 5
// Size of an error buffer in bytes, with the final 0.
#define BROADLOOM_ERROR_SIZE 512

// Return values of functions that may fail.
enum broadloom_result {
  BROADLOOM_OK = 0,
  BROADLOOM_REFUSED = 1,  // the request is invalid, for example an option's value
  BROADLOOM_FAILED = 2    // the simulator, the machine or another process failed
};

// Options ----------------------------------------------------------------------------------------

// Types of options.
enum broadloom_option_type {
  BROADLOOM_BOOL = 0,
  BROADLOOM_INT = 1,
  BROADLOOM_FLOAT = 2,
  BROADLOOM_TEXT = 3,
  // The path of code that the plug-in loads, or of its folder. Broadloom refuses a path that comes
  // from a file, such as a run's record, unless the user allows it.
  BROADLOOM_LIBRARY = 4
};

// An option that users set by --env.<name> VALUE. Broadloom parses the text, checks type and range,
// and refuses unknown names.
struct broadloom_option {
  const char* name;          // letters, digits and _
  int32_t type;              // broadloom_option_type
  const char* default_text;  // "9.8", "true", "easy"
  double low, high;          // INT and FLOAT: smallest and largest value; both 0: any
  const char* choices;       // TEXT: allowed values, "easy|hard"; NULL: any
  const char* doc;           // one line, for `broadloom env show`
};

// The value of an option, or its default. The option's type decides which member holds it.
struct broadloom_value {
  int64_t integer;   // INT; BOOL: 0 or 1
  double number;     // FLOAT
  const char* text;  // TEXT and LIBRARY; valid during the call
};

// Tasks ------------------------------------------------------------------------------------------

// One task. Its id has letters, digits, '-', '_' and '.'. End it with a version, "Cart-v0", so that
// a task with other results can have another id.
struct broadloom_task {
  const char* id;                          // unique in this plug-in
  const char* summary;                     // one line
  const struct broadloom_option* options;  // [num_options]
  int32_t num_options;                     // 0: none
  const void* user;  // free for the plug-in, for example to tell its tasks apart
};

// Kinds of spaces.
enum broadloom_space_kind {
  BROADLOOM_BOX = 0,
  BROADLOOM_DISCRETE = 1,
  BROADLOOM_MULTI_DISCRETE = 2,
  BROADLOOM_HYBRID = 3
};
// Number types of observations.
enum broadloom_dtype { BROADLOOM_FLOAT32 = 0, BROADLOOM_UINT8 = 1 };
// Fill for the frames before an episode's first one: that frame, or zeros.
enum broadloom_padding { BROADLOOM_PAD_FIRST = 0, BROADLOOM_PAD_ZERO = 1 };

// A named part of an observation. Names have letters, digits, '-', '_' and '.'.
struct broadloom_group {
  const char* name;
  // BROADLOOM_BOX, or BROADLOOM_DISCRETE: one of shape[0] choices, which observe() writes one-hot.
  int32_t kind;
  // A Box's numbers. BROADLOOM_UINT8: whole numbers from 0 to `high`, such as pixels, which
  // observe() writes as floats.
  int32_t dtype;
  int32_t rank;      // dimensions, 1 to 4
  int32_t shape[4];  // row-major; images: {height, width, channels}; Discrete: {n}
  float low, high;   // bounds of all its numbers; both 0: unbounded, or 0 to 255 for UINT8
};

// A Box is an array of numbers with bounds. A Discrete space is one number from 0 to n-1. A
// MultiDiscrete space, for actions only, is an array of whole numbers from 0 to their upper bounds.
// A hybrid space, for actions only, is a row of choices, as in a MultiDiscrete space, and then the
// numbers of a Box.
struct broadloom_space {
  int32_t kind;      // broadloom_space_kind
  int32_t dtype;     // BROADLOOM_UINT8: only for Box observations, such as pixels
  int32_t rank;      // dimensions, 1 to 4; 0: no such space
  int32_t shape[4];  // row-major; images: {height, width, channels}; Discrete: {n}
  // Bounds of all numbers of a Box. Both 0: unbounded, or 0 to 255 for UINT8. Actions are clipped
  // to them. MultiDiscrete: lower bounds are 0; upper bounds, by `high` or `highs`, are whole.
  float low, high;
  const float *lows, *highs;  // [size] bounds of each number; NULL: use low and high
  // For UINT8 images that stack the last `frames` frames of the episode, the newest in the last
  // channels. 0 or 1: no stack. (Users can stack the frames of a task that shows one.)
  int32_t frames;
  int32_t frame_padding;  // broadloom_padding
  // HYBRID: how many of the first numbers are choices. Give `highs`, and `lows`, 0 for choices.
  int32_t leading_choices;
  // For observations that are dictionaries: their groups, whose numbers follow each other in rows
  // of floats. The members above are then 0. NULL: one array.
  const struct broadloom_group* groups;  // [num_groups]
  int32_t num_groups;                    // at most 64
};

// Abilities and limits of a simulator.
enum broadloom_flags {
  // Broadloom calls step() only for all N environments, and calls of one simulator never overlap.
  // (It still calls observe..(), reset() and the state functions for single environments.)
  BROADLOOM_WHOLE_BATCH = 1,
  // The same options, keys and actions may give different bits.
  BROADLOOM_NOT_DETERMINISTIC = 2,
  // If an episode ends in step(), step() itself starts the next one. observe() then
  // shows the first observation of the new episode. Broadloom calls reset() only at the start and
  // after it truncates an episode. Without observe_final(), last observations are lost.
  BROADLOOM_RESETS_ITSELF = 4,
  // Results are the same bits on every processor. This excludes the C library's math functions, and
  // a*b+c fused by the compiler (use -ffp-contract=off). Without the flag, records note `own` bits.
  BROADLOOM_COMMON_BITS = 8,
  // Not every choice is valid in each state; valid_actions() tells them apart. Only for choices
  // of actions. Policies then never choose an invalid one.
  BROADLOOM_ACTION_MASKS = 16,
  // With device = cuda, device() steps the environments in the GPU's memory. It resets ended
  // environments and truncates at max_episode_steps itself. Only with BROADLOOM_WHOLE_BATCH,
  // BROADLOOM_RESETS_ITSELF and observe_final(), and without critic_observation. The other
  // functions
  // serve evaluations and device = cpu. They also train if a user sets another time limit, starts
  // by age (stagger_starts) or wrappers such as env.frame_stack, or if the task has reward terms or
  // measures.
  BROADLOOM_STEPS_ON_DEVICE = 32
};

// One term of the reward, which is the sum of weight * term.
struct broadloom_reward_term {
  const char* name;  // letters, digits, '-', '_' and '.'
  double weight;     // factor of the term
};

// A quantity measured in each step besides the reward, such as the error to a command. Reports,
// evaluations and panels show its mean over steps.
struct broadloom_measure {
  const char* name;  // letters, digits, '-', '_' and '.'
  const char* unit;  // "m/s"; NULL: none
};

// An input that differs between environments, such as a command or a place on the terrain. The
// audit checks whether environments get different values.
struct broadloom_context {
  const char* name;  // with its unit
  double low, high;  // range of the draws; equal: a constant
};

// The description of a task under given options. All members are 0 when describe() is called.
// Pointers must stay valid until the next call of describe().
struct broadloom_spec {
  struct broadloom_space observation;         // observation of the policy
  struct broadloom_space critic_observation;  // Box, critic only; rank 0: none
  struct broadloom_space action;              // FLOAT32 Box, Discrete, MultiDiscrete or hybrid
  int32_t max_episode_steps;                  // time limit in steps; users may change it; 0: none
  // Reasons of termination; NULL: only "terminated". (Broadloom adds the time limit.)
  const char* const* end_reasons;
  int32_t num_end_reasons;  // at most 126
  int32_t names_success;    // not 0: step() sets `successes`
  // not 0: the two scores below are set, for these options. They are mean returns that studies map
  // to 0 and 1.
  int32_t has_score_range;
  double random_score;           // mean return of uniformly random actions
  double reference_score;        // mean return of a good policy
  int32_t has_reward_threshold;  // not 0: reward_threshold is set
  double reward_threshold;       // the task counts as solved from this mean return on
  const char* upstream;          // source of the dynamics, with version; NULL: the plug-in
  int64_t state_size;            // most bytes of an environment's state; 0: cannot be saved
  uint32_t flags;                // broadloom_flags
  const struct broadloom_reward_term* reward_terms;  // for records; NULL: unknown
  int32_t num_reward_terms;                          // at most 64, like the two counts below
  const struct broadloom_measure* measures;          // NULL: none
  int32_t num_measures;                              // length of measures
  const struct broadloom_context* context;           // NULL: unknown
  int32_t num_context;                               // length of context, and of context()'s output
  // Seeds of generated worlds that environments visit repeatedly, such as game levels: num_worlds
  // seeds from first_world on. The audit checks whether a panel uses worlds of training.
  uint64_t first_world, num_worlds;  // num_worlds 0: none or unknown
};

// Stepping ---------------------------------------------------------------------------------------

// Arrays of one step of environments [begin, end), k = end - begin. When step() is called, byte
// arrays are 0 and rewards NaN, so that those left out are an error.
struct broadloom_step {
  const float* actions;    // [k, A] in, within the bounds; NULL if actions are Discrete
  const int32_t* choices;  // [k] in, 0 to n-1; NULL unless actions are Discrete
  float* rewards;          // [k] out, finite
  uint8_t* terminated;     // [k] out; 1: the task ended the episode; truncated is then 0
  // [k] out; 1: the simulator's own limit ended the episode, not before max_episode_steps. Only
  // with BROADLOOM_RESETS_ITSELF; otherwise Broadloom handles limits.
  uint8_t* truncated;
  uint8_t* reasons;    // [k] out; index into end_reasons, if terminated
  uint8_t* successes;  // [k] out; 1: the episode succeeded, if it ends here in any way
};

// Calls of device().
enum broadloom_device_call {
  // Copy the states that the other functions know to the GPU: before the first step, and after
  // reset() or set_state(). These states may change as soon as the call returns.
  BROADLOOM_DEVICE_TAKE = 0,
  // Write current observations, and flags of valid actions. Called before each block of steps;
  // changes no state.
  BROADLOOM_DEVICE_OBSERVE = 1,
  // Step each environment once, and write the results. One that ends begins its next episode, whose
  // first observation it writes.
  BROADLOOM_DEVICE_STEP = 2,
  // Copy the states back for the other functions, and wait for that. Further steps may follow.
  BROADLOOM_DEVICE_BRING = 3
};

// Arrays of all N environments in the GPU's memory. They keep their places while a run trains, so
// work on them can be recorded once, as a CUDA graph.
struct broadloom_device_rows {
  const float* actions;  // [N, A] in, within the bounds; a choice is its index
  void* observations;    // [N, D] out, float or uint8_t, by the spec; Discrete: one-hot rows
  float* rewards;        // [N] out, finite; NaN before
  // [N] out, 0 before; as in broadloom_step. At most one of the first two is 1.
  uint8_t *terminated, *truncated, *reasons, *successes;
  void* final_observations;  // [N, D] out: the last one of each episode that was truncated
  uint8_t* valid_actions;    // [N, M] out; NULL without BROADLOOM_ACTION_MASKS
};

// The table of a plug-in. A function may be NULL only if its comment says so.
struct broadloom_plugin {
  uint32_t abi;         // BROADLOOM_PLUGIN_ABI; first member in all versions of this header
  const char* name;     // name of the plug-in, one line
  const char* version;  // version of the plug-in, kept in records of runs
  const struct broadloom_task* tasks;  // [num_tasks]
  int32_t num_tasks;                   // at least 1

  // Fills in the spec. options: [task->num_options], in the table's order, here and in make(). It
  // is called often, so keep it cheap. Return REFUSED for invalid combinations of values.
  int (*describe)(const struct broadloom_task* task, const struct broadloom_value* options,
                  struct broadloom_spec* spec, char* error);
  // Makes num_envs environments. Broadloom resets each before any other call. If make() fails, it
  // frees what it made: Broadloom then ignores *simulator and does not call close().
  int (*make)(const struct broadloom_task* task, const struct broadloom_value* options,
              int32_t num_envs, void** simulator, char* error);
  // Frees a simulator.
  void (*close)(void* simulator);
  // Begins an episode. All randomness of the episode must follow from `key`: seed the environment's
  // own generator with it, and keep the generator in the state. Keys differ by run seed, purpose
  // (training, evaluation, panels), environment or seed family, and episode.
  int (*reset)(void* simulator, int32_t env, uint64_t key, char* error);
  // Steps each environment once.
  int (*step)(void* simulator, int32_t begin, int32_t end, const struct broadloom_step* step,
              char* error);
  // Writes current observations, after reset(), step() or set_state(). Repeated calls give the
  // same. rows: float [k, D] or uint8_t [k, D], by the spec. Discrete: float [k, n]; write only the
  // first number of each row, the index. Floats are NaN before, so that those left out are an
  // error.
  void (*observe)(void* simulator, int32_t begin, int32_t end, void* rows);
  // Writes critic observations in the same way. May be NULL without critic_observation.
  void (*observe_critic)(void* simulator, int32_t begin, int32_t end, void* rows);
  // With BROADLOOM_RESETS_ITSELF: writes the last observation of the episode that ended in this
  // environment's last step(). May be NULL: last observations are then lost. They are also lost
  // with a critic_observation, which this function does not cover.
  void (*observe_final)(void* simulator, int32_t env, void* row);
  // Saves and restores everything that an environment's next steps depend on, in at most state_size
  // bytes. Unused bytes are 0. set_state() must accept states of another simulator with the same
  // task and options. Return REFUSED for bytes that cannot be a state: the file is then damaged.
  // May be NULL if state_size is 0.
  int (*get_state)(void* simulator, int32_t env, void* bytes, char* error);
  int (*set_state)(void* simulator, int32_t env, const void* bytes, char* error);
  // Writes sums over the environment's steps since the last call, then resets them. sums:
  // [num_reward_terms + num_measures]; first each reward term, weight times term, then each
  // measure. reset() must not change the sums, and they are not part of the state. May be NULL
  // without measures; sums of reward terms are then unknown.
  void (*take_step_sums)(void* simulator, int32_t env, double* sums);
  // Writes current values of the spec's context, [num_context]. May be NULL without context.
  void (*context)(void* simulator, int32_t env, double* numbers);
  // With BROADLOOM_ACTION_MASKS: writes which choices are valid in the current states, [k, M]; 1
  // valid, 0 invalid. A row has a byte for each choice of the action's first number, then of its
  // second, and so on. Each number needs a valid choice. May be NULL without the flag.
  void (*valid_actions)(void* simulator, int32_t begin, int32_t end, uint8_t* flags);
  // With BROADLOOM_STEPS_ON_DEVICE: does what `call` says (broadloom_device_call). rows: NULL for
  // TAKE and BRING. stream: a cudaStream_t of the calling thread's current GPU. Put all work on it,
  // or order it with events: CUDA's default stream is not ordered with it. Do not wait for it,
  // except in BRING. The bits must be those of step(). May be NULL without the flag.
  int (*device)(void* simulator, int32_t call, const struct broadloom_device_rows* rows,
                void* stream, char* error);
};

#ifdef __GNUC__
__attribute__((visibility("default")))
#endif
// The only symbol that a plug-in exports. Returns its table, valid while the library is loaded.
const struct broadloom_plugin*
broadloom_get_plugin(void);

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming,modernize-*)

#endif  // BROADLOOM_PLUGIN_H
