// A cart-pole in the style of many C environment collections: one struct per environment, one call
// per step, resets from rand().
//
//   scalar_cartpole CASE NUM_ENVS SECONDS
//
// prints one line of JSON. Actions are drawn before the clock. Each step writes the observation
// (after the reset, where the episode ended), the reward and two flags. The last observation of an
// episode is not kept.
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kActionRows = 64, kTimeLimit = 500 };

typedef struct {
  float x, speed, angle, turn;
  int age;
} CartPole;

typedef struct {
  float* observations;
  float* rewards;
  unsigned char* terminated;
  unsigned char* truncated;
} Rows;

static float small_random(void) { return ((float)rand() / (float)RAND_MAX - 0.5f) * 0.1f; }

static void reset(CartPole* pole) {
  pole->x = small_random();
  pole->speed = small_random();
  pole->angle = small_random();
  pole->turn = small_random();
  pole->age = 0;
}

static void step(CartPole* pole, unsigned char action, const Rows* out, long row) {
  const float kGravity = 9.8f, kPoleMass = 0.1f, kMass = 1.1f, kHalfPole = 0.5f, kTick = 0.02f;
  const float push = action ? 10.0f : -10.0f;
  const float sine = sinf(pole->angle), cosine = cosf(pole->angle);
  const float drive = (push + kPoleMass * kHalfPole * pole->turn * pole->turn * sine) / kMass;
  const float turning = (kGravity * sine - cosine * drive) /
                        (kHalfPole * (4.0f / 3.0f - kPoleMass * cosine * cosine / kMass));
  const float moving = drive - kPoleMass * kHalfPole * turning * cosine / kMass;
  pole->x += kTick * pole->speed;
  pole->speed += kTick * moving;
  pole->angle += kTick * pole->turn;
  pole->turn += kTick * turning;
  pole->age += 1;

  const int fell = fabsf(pole->x) > 2.4f || fabsf(pole->angle) > 0.20943951f;
  const int late = !fell && pole->age >= kTimeLimit;
  out->rewards[row] = 1.0f;
  out->terminated[row] = (unsigned char)fell;
  out->truncated[row] = (unsigned char)late;
  if (fell || late) reset(pole);
  float* observation = out->observations + 4 * row;
  observation[0] = pole->x;
  observation[1] = pole->speed;
  observation[2] = pole->angle;
  observation[3] = pole->turn;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// Steps per second over at least `seconds`.
static double run(CartPole* poles, long count, const unsigned char* actions, const Rows* out,
                  double seconds) {
  const double start = now();
  double elapsed = 0;
  long rounds = 0;
  while (elapsed < seconds) {
    for (long t = 0; t < kActionRows; ++t) {
      for (long i = 0; i < count; ++i) step(&poles[i], actions[t * count + i], out, i);
    }
    ++rounds;
    elapsed = now() - start;
  }
  return (double)rounds * kActionRows * (double)count / elapsed;
}

int main(int argc, char** argv) {
  const long count = argc == 4 ? atol(argv[2]) : 0;
  const double seconds = argc == 4 ? atof(argv[3]) : 0;
  if (count < 1 || !(seconds > 0)) {
    fprintf(stderr, "usage: %s CASE NUM_ENVS SECONDS\n", argv[0]);
    return 2;
  }
  const size_t rows = (size_t)count;
  CartPole* poles = malloc(rows * sizeof *poles);
  unsigned char* actions = malloc(kActionRows * rows);
  const Rows out = {malloc(4 * rows * sizeof(float)), malloc(rows * sizeof(float)), malloc(rows),
                    malloc(rows)};
  if (!poles || !actions || !out.observations || !out.rewards || !out.terminated ||
      !out.truncated) {
    fprintf(stderr, "no memory for %ld environments\n", count);
    return 1;
  }
  srand(1);
  for (size_t i = 0; i < kActionRows * rows; ++i) actions[i] = (rand() >> 8) & 1;
  for (long i = 0; i < count; ++i) reset(&poles[i]);

  run(poles, count, actions, &out, seconds / 4);
  const double rate = run(poles, count, actions, &out, seconds);
  float check = 0;  // reads the results, so that the compiler cannot drop them
  for (long i = 0; i < count; ++i) check += out.observations[4 * i] + out.rewards[i];
  fprintf(stderr, "check %g\n", (double)check);
  printf("{\"peer\": \"scalar_c\", \"case\": \"%s\", \"steps_per_second\": %.1f}\n", argv[1], rate);
  return 0;
}
