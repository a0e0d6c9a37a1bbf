// Purposes of random streams. Separate from random.h, because that header takes half a second to
// compile.
#pragma once

#include <cstdint>

namespace broadloom {

// The purpose of a stream. Training and evaluation streams are disjoint by construction. Saved runs
// depend on these values: append, never renumber.
enum class Purpose : std::uint32_t {
  kInit = 1,        // parameter initialisation; lane = tensor, index = 0
  kShuffle = 2,     // minibatch permutation; lane = epoch, index = iteration
  kTrainReset = 3,  // lane = environment's seed family, index = episode
  kTrainStep = 4,   // lane = environment's seed family, index = step since the run began
  kAction = 5,      // lane = environment, index = step since the run began
  kStagger = 6,     // lane = environment's seed family, index = step of the staggering
  kEvalReset = 7,
  kEvalStep = 8,
  kUser = 9,          // examples, tests, benchmarks
  kLaboratory = 10,   // gradient laboratory; lane = what for, index = round
  kInstruments = 11,  // drawn by instruments, on seeds of their own
  kBootstrap = 12,    // resampling of runs; lane = which sample, index = replicate
  kTrainStrata = 13,  // constants of an episode; lane = environment's seed family, index = episode
  kEvalStrata = 14,
  kTrainDisturb = 15,  // lane = seed family and what for; index = step since the run began
  kEvalDisturb = 16,
  kCurriculum = 17,  // level after the top; lane = environment's seed family, index = episode
  kPanelReset = 18,  // held-out panels: as training's, each episode a family of its own
  kPanelStep = 19,
  kPanelStrata = 20,
  kPanelDisturb = 21,
  kEvalAction = 22,  // actions that an evaluation samples; lane = episode, index = its step
  kAnew =
      23,  // seed of the episodes that a resume begins; lane 0, index = step since the run began
  kRndTarget = 24,     // parameters of RND's target network; lane = tensor, index = 0
  kRndPredictor = 25,  // likewise of the network that predicts it
  kRndMask = 26,       // samples that train it; lane = epoch, index = iteration
  kRndStart = 27,      // random play before the first block; lane = environment, index = step
  kTerrain = 28,       // ground made from a seed of its own; lane = column, index = level
  kFollowers = 29,     // policies from which a leader learns, too; lane = 0, index = iteration
};

}  // namespace broadloom
