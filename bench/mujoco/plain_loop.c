// The smallest loop that steps Gymnasium's tasks. compare.py measures Broadloom against it. Each
// environment has an mjData, and each thread a range of environments. Actions are drawn beforehand;
// observations are float32; episodes end and reset as in the task.
//   plain_loop MODEL.xml FRAME_SKIP LOW HIGH NOISE NUM_ENVS NUM_STEPS THREADS
// LOW, HIGH: an episode ends outside this range of qpos[2] (qpos[1] for Hopper, with 6 positions).
#include <math.h>
#include <mujoco/mujoco.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kActionRows = 257, kLimit = 1000 };

static const mjModel* model;
static int frame_skip, num_envs, num_steps, threads, height_at;
static double low, high, noise;

struct Range {
  int begin, end;
  long episodes;
  double reward;
};

static double uniform(uint64_t* x) {
  *x = *x * 6364136223846793005u + 1442695040888963407u;
  return (double)(*x >> 11) * 0x1p-53;
}

static void reset(mjData* d, uint64_t* random) {
  mj_resetData(model, d);
  for (int i = 0; i < model->nq; ++i) d->qpos[i] += noise * (2 * uniform(random) - 1);
  for (int i = 0; i < model->nv; ++i) d->qvel[i] += noise * (2 * uniform(random) - 1);
  mj_forward(model, d);
}

static void* run(void* pointer) {
  struct Range* range = pointer;
  const int count = range->end - range->begin, nu = (int)model->nu;
  const int width = (int)(model->nq + model->nv + 6 * model->nbody);
  mjData** all = malloc((size_t)count * sizeof(mjData*));
  int* age = calloc((size_t)count, sizeof(int));
  float* seen = malloc((size_t)count * (size_t)width * sizeof(float));
  double* actions = malloc((size_t)kActionRows * (size_t)nu * sizeof(double));
  uint64_t random = (uint64_t)range->begin + 1;
  for (int i = 0; i < kActionRows * nu; ++i) {
    const mjtNum* bounds = model->actuator_ctrlrange + 2 * (i % nu);
    actions[i] = bounds[0] + (bounds[1] - bounds[0]) * uniform(&random);
  }
  for (int k = 0; k < count; ++k) reset(all[k] = mj_makeData(model), &random);
  for (int t = 0; t < num_steps; ++t) {
    for (int k = 0; k < count; ++k) {
      mjData* d = all[k];
      const double* action = actions + (size_t)((t + 31 * k) % kActionRows) * (size_t)nu;
      const double before = d->qpos[0];
      double cost = 0;
      for (int a = 0; a < nu; ++a) d->ctrl[a] = action[a], cost += action[a] * action[a];
      for (int s = 0; s < frame_skip; ++s) mj_step(model, d);
      mj_rnePostConstraint(model, d);
      float* out = seen + (size_t)k * (size_t)width;
      for (int i = 0; i < model->nq; ++i) *out++ = (float)d->qpos[i];
      for (int i = 0; i < model->nv; ++i) *out++ = (float)d->qvel[i];
      for (int i = 0; i < 6 * model->nbody; ++i) *out++ = (float)d->cfrc_ext[i];
      range->reward += d->qpos[0] - before - cost;
      if (++age[k] < kLimit && d->qpos[height_at] > low && d->qpos[height_at] < high) continue;
      reset(d, &random);
      age[k] = 0;
      range->episodes += 1;
    }
  }
  return NULL;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void quiet(const mjLogMessage* message) {
  if (message->level == mjLOG_ERROR) abort();
}

int main(int argc, char** argv) {
  if (argc != 9) {
    fprintf(stderr, "usage: plain_loop MODEL.xml FRAME_SKIP LOW HIGH NOISE NUM_ENVS NUM_STEPS "
                    "THREADS\n");
    return 2;
  }
  mju_setLogHandler(quiet);
  char error[1000];
  model = mj_loadXML(argv[1], NULL, error, sizeof(error));
  if (model == NULL) return fprintf(stderr, "%s\n", error), 1;
  frame_skip = atoi(argv[2]), low = atof(argv[3]), high = atof(argv[4]), noise = atof(argv[5]);
  num_envs = atoi(argv[6]), num_steps = atoi(argv[7]), threads = atoi(argv[8]);
  height_at = model->nq == 6 ? 1 : 2;
  struct Range ranges[256];
  pthread_t workers[256];
  const double start = now();
  for (int i = 0; i < threads; ++i) {
    ranges[i] = (struct Range){num_envs * i / threads, num_envs * (i + 1) / threads, 0, 0};
    pthread_create(&workers[i], NULL, run, &ranges[i]);
  }
  long episodes = 0;
  for (int i = 0; i < threads; ++i) pthread_join(workers[i], NULL), episodes += ranges[i].episodes;
  struct timespec cpu;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  const double steps = (double)num_envs * num_steps;
  printf("{\"steps_per_second\": %.1f, \"steps_per_cpu_second\": %.1f, \"episodes\": %ld}\n",
         steps / (now() - start),
         steps / ((double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec), episodes);
  return 0;
}
