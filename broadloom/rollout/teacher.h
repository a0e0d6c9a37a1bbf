// A fixed policy that labels each observation of a block while another policy, the student, acts.
// Its outputs go to RolloutBlock::labels.
#pragma once

#include <cstdint>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/normalizer.h"
#include "broadloom/rollout/observations.h"

namespace broadloom {

// The memory that one thread needs to label.
struct TeacherScratch {
  TileWorkspace<float> work;
  AlignedVector<float> seen;  // [kTileRows, the teacher's D]
};

// Reads raw observations, those of the student's policy or of its critic, and normalises them by
// statistics of its own. Its network has no memory, so a label depends on one observation alone.
class Teacher {
 public:
  // network, params [P] and normalizer (null: none) must outlive this and not change.
  Teacher(const ActorCritic& network, const float* params, const ObsNormalizer* normalizer,
          bool reads_critic)
      : network_(network), params_(params), normalizer_(normalizer), reads_critic_(reads_critic) {}

  bool reads_critic() const { return reads_critic_; }

  TeacherScratch make_scratch() const;

  // Writes the outputs of `rows` <= kTileRows observations, from row `first` on, to labels
  // [rows, outputs]: logits of choices, then means. valid: flags of valid actions [rows, logits];
  // null: all are. Allocates nothing.
  void label(const Observations& raw, std::size_t first, int rows, const std::uint8_t* valid,
             TeacherScratch& scratch, float* labels) const;

 private:
  const ActorCritic& network_;
  const float* params_;
  const ObsNormalizer* normalizer_;
  bool reads_critic_;
};

}  // namespace broadloom
