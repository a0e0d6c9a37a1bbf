/* Cart-v0: park a cart at a mark on a sloping rail. A simulator in plain C.
 *
 * A complete plug-in: options, float32 observations, critic observations, end reasons, success,
 * reward terms, states. Copy it, and begin with the four functions that have the physics.
 *
 *   cc -std=c11 -O2 -shared -fPIC -I PREFIX/include -o libcart.so cart.c
 *   broadloom env check plugin:./libcart.so:Cart-v0
 *   broadloom train --env_id plugin:./libcart.so:Cart-v0 --env.friction 0.2
 *
 * PREFIX is the folder where Broadloom is installed. In its source tree, use the root folder
 * instead of PREFIX/include.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broadloom/env/plugins/broadloom_plugin.h"

enum { kFriction, kForce, kNumOptions };
enum { kOffTheRail };

/* Indices of a cart's sums: its reward terms, then its distance from the mark. */
enum { kAlive, kOffMark, kSpeed, kNumTerms, kDistance = kNumTerms, kNumSums };

/* Everything that the next step depends on. get_state() copies it out, set_state() back in. */
struct cart {
  double x, speed; /* m from the mark, m/s */
  double slope;    /* m/s^2, drawn for the episode; only the critic observes it */
  uint64_t random; /* state of the environment's own generator */
};

struct simulator {
  double friction, force;
  struct cart* carts;       /* [num_envs] */
  double (*sums)[kNumSums]; /* [num_envs] sums since the last call; not part of the state */
};

static const double kTick = 0.05; /* s */
static const double kRail = 2.0;  /* m from the mark to either end */

/* splitmix64, seeded with the key of the episode. */
static double uniform(struct cart* cart, double low, double high) {
  uint64_t z = cart->random += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return low + (high - low) * (double)(z >> 11) * 0x1.0p-53;
}

static int reset(void* simulator, int32_t env, uint64_t key, char* error) {
  struct cart* cart = &((struct simulator*)simulator)->carts[env];
  (void)error;
  cart->random = key;
  cart->x = uniform(cart, -1.5, 1.5);
  cart->speed = uniform(cart, -0.2, 0.2);
  cart->slope = uniform(cart, -0.3, 0.3);
  return BROADLOOM_OK;
}

static int step(void* simulator, int32_t begin, int32_t end, const struct broadloom_step* step,
                char* error) {
  const struct simulator* all = simulator;
  (void)error;
  for (int32_t k = 0; k < end - begin; ++k) {
    struct cart* cart = &all->carts[begin + k];
    const double push = all->force * step->actions[k]; /* [k, 1], within -1 and 1 */
    const double gust = uniform(cart, -0.1, 0.1);
    cart->speed += kTick * (push + gust + cart->slope - all->friction * cart->speed);
    cart->x += kTick * cart->speed;
    const double off_mark = -cart->x * cart->x, speed = -0.1 * cart->speed * cart->speed;
    step->rewards[k] = (float)(1.0 + off_mark + speed);
    double* sums = all->sums[begin + k];
    sums[kAlive] += 1.0;
    sums[kOffMark] += off_mark;
    sums[kSpeed] += speed;
    sums[kDistance] += cart->x < 0.0 ? -cart->x : cart->x;
    step->terminated[k] = cart->x < -kRail || cart->x > kRail;
    step->reasons[k] = kOffTheRail;
    step->successes[k] = cart->x > -0.1 && cart->x < 0.1; /* if the episode ends here */
  }
  return BROADLOOM_OK;
}

static void observe(void* simulator, int32_t begin, int32_t end, void* rows) {
  const struct simulator* all = simulator;
  float* out = rows; /* [k, 2] */
  for (int32_t i = begin; i < end; ++i) {
    *out++ = (float)all->carts[i].x;
    *out++ = (float)all->carts[i].speed;
  }
}

static void observe_critic(void* simulator, int32_t begin, int32_t end, void* rows) {
  const struct simulator* all = simulator;
  float* out = rows; /* [k, 3] */
  for (int32_t i = begin; i < end; ++i) {
    *out++ = (float)all->carts[i].x;
    *out++ = (float)all->carts[i].speed;
    *out++ = (float)all->carts[i].slope;
  }
}

static int get_state(void* simulator, int32_t env, void* bytes, char* error) {
  (void)error;
  memcpy(bytes, &((struct simulator*)simulator)->carts[env], sizeof(struct cart));
  return BROADLOOM_OK;
}

/* The bytes come from a file that someone may have changed. */
static int set_state(void* simulator, int32_t env, const void* bytes, char* error) {
  struct cart cart;
  memcpy(&cart, bytes, sizeof(cart));
  if (!(cart.x >= -kRail && cart.x <= kRail)) { /* NaN is outside, too */
    snprintf(error, BROADLOOM_ERROR_SIZE, "set_state: got a cart at %g m, expected -%g to %g m",
             cart.x, kRail, kRail);
    return BROADLOOM_REFUSED;
  }
  ((struct simulator*)simulator)->carts[env] = cart;
  return BROADLOOM_OK;
}

static void take_step_sums(void* simulator, int32_t env, double* sums) {
  double* own = ((struct simulator*)simulator)->sums[env];
  memcpy(sums, own, sizeof(double[kNumSums]));
  memset(own, 0, sizeof(double[kNumSums]));
}

static void context(void* simulator, int32_t env, double* numbers) {
  numbers[0] = ((struct simulator*)simulator)->carts[env].slope;
}

static int describe(const struct broadloom_task* task, const struct broadloom_value* options,
                    struct broadloom_spec* spec, char* error) {
  static const char* const kReasons[] = {"off_the_rail"};
  static const struct broadloom_reward_term kTerms[kNumTerms] = {
      [kAlive] = {"alive", 1.0}, [kOffMark] = {"off_mark", -1.0}, [kSpeed] = {"speed", -0.1}};
  static const struct broadloom_measure kMeasures[] = {{"distance", "m"}};
  static const struct broadloom_context kContext[] = {{"slope, m/s^2", -0.3, 0.3}};
  (void)task;
  if (options[kForce].number <= 0.3) {
    snprintf(error, BROADLOOM_ERROR_SIZE,
             "force: got %g, expected more than 0.3, or the cart cannot hold against the slope",
             options[kForce].number);
    return BROADLOOM_REFUSED;
  }
  spec->observation = (struct broadloom_space){.rank = 1, .shape = {2}};
  spec->critic_observation = (struct broadloom_space){.rank = 1, .shape = {3}};
  spec->action = (struct broadloom_space){.rank = 1, .shape = {1}, .low = -1.0f, .high = 1.0f};
  spec->max_episode_steps = 200;
  spec->end_reasons = kReasons;
  spec->num_end_reasons = 1;
  spec->names_success = 1;
  spec->reward_terms = kTerms;
  spec->num_reward_terms = kNumTerms;
  spec->measures = kMeasures;
  spec->num_measures = 1;
  spec->context = kContext;
  spec->num_context = 1;
  spec->state_size = sizeof(struct cart);
  spec->flags = BROADLOOM_COMMON_BITS; /* only sums and products; -std=c11 fuses none */
  return BROADLOOM_OK;
}

static int make(const struct broadloom_task* task, const struct broadloom_value* options,
                int32_t num_envs, void** simulator, char* error) {
  struct simulator* all = malloc(sizeof(*all));
  struct cart* carts = calloc((size_t)num_envs, sizeof(*carts));
  double(*sums)[kNumSums] = calloc((size_t)num_envs, sizeof(*sums));
  (void)task;
  if (all == NULL || carts == NULL || sums == NULL) {
    free(all);
    free(carts);
    free(sums);
    snprintf(error, BROADLOOM_ERROR_SIZE, "no memory for %d carts", num_envs);
    return BROADLOOM_FAILED;
  }
  all->friction = options[kFriction].number;
  all->force = options[kForce].number;
  all->carts = carts;
  all->sums = sums;
  *simulator = all;
  return BROADLOOM_OK;
}

static void destroy(void* simulator) {
  free(((struct simulator*)simulator)->carts);
  free(((struct simulator*)simulator)->sums);
  free(simulator);
}

static const struct broadloom_option kOptions[kNumOptions] = {
    [kFriction] = {.name = "friction",
                   .type = BROADLOOM_FLOAT,
                   .default_text = "0.5",
                   .high = 10.0,
                   .doc = "Friction that slows the cart down, 1/s."},
    [kForce] = {.name = "force",
                .type = BROADLOOM_FLOAT,
                .default_text = "1.0",
                .high = 100.0,
                .doc = "Acceleration of the full push, m/s^2; more than the steepest slope, 0.3."},
};

static const struct broadloom_task kTasks[] = {
    {.id = "Cart-v0",
     .summary = "Park a cart at the mark of a rail that slopes.",
     .options = kOptions,
     .num_options = kNumOptions},
};

const struct broadloom_plugin* broadloom_get_plugin(void) {
  static const struct broadloom_plugin kPlugin = {
      .abi = BROADLOOM_PLUGIN_ABI,
      .name = "cart",
      .version = "1.0",
      .tasks = kTasks,
      .num_tasks = 1,
      .describe = describe,
      .make = make,
      .close = destroy,
      .reset = reset,
      .step = step,
      .observe = observe,
      .observe_critic = observe_critic,
      .get_state = get_state,
      .set_state = set_state,
      .take_step_sums = take_step_sums,
      .context = context,
  };
  return &kPlugin;
}
