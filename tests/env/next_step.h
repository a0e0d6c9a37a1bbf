// Environments whose reset takes a step, like Gymnasium's next-step autoreset.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/env/simulators.h"

namespace broadloom {

// Until an episode begins, the environment shows the last one's end. With `garbage`, it shows
// numbers that would be noticed if anything used them. Only for float32 observations.
class NextStep final : public Simulator {
 public:
  NextStep(std::unique_ptr<VecEnv> inner, const std::string& id, bool saves_state,
           bool garbage = false)
      : Simulator(std::move(inner), id, {.saves_state = saves_state, .filler_rows = true}),
        garbage_(garbage),
        width_(static_cast<std::size_t>(spec().observation_size())),
        waits_(static_cast<std::size_t>(num_envs())),
        shown_(waits_.size() * width_) {}

  bool next_is_filler(int env) const override { return waits_[static_cast<std::size_t>(env)] != 0; }

  void observe(int begin, int end, ObservationRows rows) const override {
    inner().observe(begin, end, rows);
    for (int n = begin; n < end; ++n) {
      if (!next_is_filler(n)) continue;
      std::copy_n(&shown_[n * width_], width_, rows.floats() + (n - begin) * width_);
    }
  }

  Status step(int begin, int end, const StepRows& rows) override {
    for (int n = begin; n < end; ++n) BROADLOOM_TRY(step_one(n, one_row(rows, n - begin)));
    return {};
  }

  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    if (!traits().saves_state) return;
    inner().append_state(prefix, out);
    const std::int64_t count = num_envs(), width = static_cast<std::int64_t>(width_);
    out.push_back({prefix + ".waits", Dtype::kU8, {count}, waits_.data()});
    out.push_back({prefix + ".shown", Dtype::kF32, {count, width}, shown_.data()});
  }

 private:
  StepRows one_row(const StepRows& rows, std::size_t k) const {
    StepRows one = rows;
    one.actions += k * static_cast<std::size_t>(spec().action_size());
    one.observations = rows.observations.offset_by(k * width_);
    one.rewards += k;
    one.terminated += k;
    one.truncated += k;
    one.final_observations = rows.final_observations.offset_by(k * width_);
    if (rows.ends != nullptr) one.ends += k;
    return one;
  }

  Status step_one(int n, const StepRows& row) {
    std::uint8_t& waits = waits_[static_cast<std::size_t>(n)];
    if (waits != 0) {
      waits = 0;
      *row.rewards = 0.0f;
      *row.terminated = *row.truncated = 0;
      inner().observe(n, n + 1, row.observations);
      return {};
    }
    BROADLOOM_TRY(inner().step(n, n + 1, row));
    waits = *row.terminated | *row.truncated;
    if (waits == 0) return {};
    float* shown = &shown_[n * width_];
    if (garbage_)
      std::fill_n(shown, width_, 1e3f);
    else
      std::copy_n(row.final_observations.floats(), width_, shown);
    std::copy_n(shown, width_, row.observations.floats());
    return {};
  }

  bool garbage_;
  std::size_t width_;
  std::vector<std::uint8_t> waits_;
  std::vector<float> shown_;
};

}  // namespace broadloom
