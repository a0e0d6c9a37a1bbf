#include "broadloom/env/frame_stack.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "broadloom/env/rewrapping_vec_env.h"

namespace broadloom {
namespace {

// Repeats the bounds of each pixel's channels `count` times.
std::vector<float> repeated(const std::vector<float>& bounds, std::size_t channels, int count) {
  std::vector<float> out;
  out.reserve(bounds.size() * static_cast<std::size_t>(count));
  for (auto pixel = bounds.begin(); pixel < bounds.end();
       pixel += static_cast<std::ptrdiff_t>(channels)) {
    for (int k = 0; k < count; ++k) {
      out.insert(out.end(), pixel, pixel + static_cast<std::ptrdiff_t>(channels));
    }
  }
  return out;
}

// Frames of floats have the layout of their bytes: each number is four channels. 0.0f is four
// zeros.
FrameLayout in_bytes(FrameLayout layout) {
  layout.channels *= static_cast<int>(sizeof(float));
  return layout;
}
const std::uint8_t* in_bytes(const float* numbers) {
  return reinterpret_cast<const std::uint8_t*>(numbers);
}
std::uint8_t* in_bytes(float* numbers) { return reinterpret_cast<std::uint8_t*>(numbers); }

void push_frame(const FrameLayout& layout, std::size_t size, const float* frame, float* stack) {
  push_frame(in_bytes(layout), size * sizeof(float), in_bytes(frame), in_bytes(stack));
}
void begin_stack(const FrameLayout& layout, std::size_t size, const float* frame, float* stack) {
  begin_stack(in_bytes(layout), size * sizeof(float), in_bytes(frame), in_bytes(stack));
}

template <class Number>
class FrameStackEnv final : public RewrappingVecEnv {
 public:
  FrameStackEnv(std::unique_ptr<VecEnv> inner, const FrameStack& frames)
      : RewrappingVecEnv(std::move(inner)),
        frames_(frames),
        spec_(this->inner().spec()),
        has_final_frames_(traits().has_final_observations),
        has_fillers_(traits().filler_rows) {
    frame_size_ = static_cast<std::size_t>(spec_.observation_size());
    (void)describe_frame_stack(frames, spec_).ok();  // checked before construction
    size_ = static_cast<std::size_t>(spec_.observation_size());
    layout_ = spec_.observation.frame_layout();
    stacks_.resize(static_cast<std::size_t>(num_envs()) * size_);
    if (has_fillers_) fillers_.resize(static_cast<std::size_t>(num_envs()));
    begin_stacks();
  }

  const EnvSpec& spec() const override { return spec_; }

  void observe(int begin, int end, ObservationRows rows) const override {
    const Number* source = &stacks_[static_cast<std::size_t>(begin) * size_];
    std::copy_n(source, static_cast<std::size_t>(end - begin) * size_, rows.as<Number>());
  }

  // The wrapped environments write frames into the caller's rows, which the stacks overwrite at the
  // end. A stack has at least two frames, so the rows have room for the current and final frames.
  Status step(int begin, int end, const StepRows& rows) override {
    const std::size_t count = static_cast<std::size_t>(end - begin);
    for (int i = begin; has_fillers_ && i < end; ++i) {
      fillers_[static_cast<std::size_t>(i)] = inner().next_is_filler(i) ? 1 : 0;
    }
    StepRows frame_rows = rows;
    frame_rows.final_observations = rows.observations.offset_by(count * frame_size_);
    BROADLOOM_TRY(inner().step(begin, end, frame_rows));
    for (std::size_t k = 0; k < count; ++k) {
      take_frame(static_cast<std::size_t>(begin) + k, k, rows, frame_rows);
    }
    observe(begin, end, rows.observations);
    return {};
  }

  Status begin_anew(std::uint64_t seed) override {
    BROADLOOM_TRY(inner().begin_anew(seed));
    begin_stacks();
    return {};
  }

  Status begin_wave(int first) override {
    BROADLOOM_TRY(RewrappingVecEnv::begin_wave(first));
    begin_stacks();
    return {};
  }

  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    inner().append_state(prefix, out);
    const std::int64_t n = num_envs(), d = spec_.observation_size();
    constexpr Dtype kDtype = dtype_of<Number>();
    const ValueRange range = kDtype == Dtype::kF32 ? kFiniteRange : kAnyRange;
    out.push_back({prefix + ".frames", kDtype, {n, d}, stacks_.data(), {range}});
  }

  // The wrapped environments, which observe single frames.
  const VecEnv& frames() const { return inner(); }

 private:
  std::unique_ptr<VecEnv> wrap(std::unique_ptr<VecEnv> others,
                               const VecEnvOptions&) const override {
    return stack_frames(std::move(others), frames_);
  }

  Number* stack_of(std::size_t env) { return &stacks_[env * size_]; }

  // Fills all stacks from current observations. One call for all, as whole-batch simulators need.
  void begin_stacks() {
    const std::size_t count = static_cast<std::size_t>(num_envs());
    std::vector<Number> frames(count * frame_size_);
    inner().observe(0, num_envs(), frames.data());
    for (std::size_t n = 0; n < count; ++n) {
      begin_stack(layout_, size_, &frames[n * frame_size_], stack_of(n));
    }
  }

  // Updates the stack of environment `env` from row k of a step.
  void take_frame(std::size_t env, std::size_t k, const StepRows& rows, const StepRows& frames) {
    const Number* frame = frames.observations.as<Number>() + k * frame_size_;
    Number* stack = stack_of(env);
    if (has_fillers_ && fillers_[env] != 0) return begin_stack(layout_, size_, frame, stack);
    if ((rows.terminated[k] | rows.truncated[k]) == 0) {
      return push_frame(layout_, size_, frame, stack);
    }
    // If a reset takes a step, the frame still is the ended episode's last one.
    const bool begins = !has_fillers_ || !inner().next_is_filler(static_cast<int>(env));
    const bool is_final = rows.final_observations && has_final_frames_;
    if (is_final) frame_final(k, rows, frames, stack);
    if (begins) return begin_stack(layout_, size_, frame, stack);
    if (!is_final) push_frame(layout_, size_, frame, stack);
  }

  void frame_final(std::size_t k, const StepRows& rows, const StepRows& frames, Number* stack) {
    push_frame(layout_, size_, frames.final_observations.as<Number>() + k * frame_size_, stack);
    std::copy_n(stack, size_, rows.final_observations.as<Number>() + k * size_);
  }

  FrameStack frames_;
  EnvSpec spec_;
  bool has_final_frames_, has_fillers_;
  FrameLayout layout_;
  std::size_t frame_size_ = 0, size_ = 0;  // numbers of a frame and of a stack
  std::vector<Number> stacks_;             // [N, D]
  std::vector<std::uint8_t> fillers_;      // [N] whether this step is no transition; empty: none is
};

}  // namespace

bool shows_frames(const EnvSpec& spec) {
  const Space& seen = spec.observation;
  return seen.kind == SpaceKind::kBox && seen.frames == 1 && seen.extents().size() <= 3 &&
         seen.groups.empty();
}

Status describe_frame_stack(const FrameStack& frames, EnvSpec& spec) {
  if (!frames.any()) return {};
  Space& seen = spec.observation;
  if (!shows_frames(spec)) {
    return invalid(fmt::format(
        "env.frame_stack: got {}, but observations of {} are {}; expected a Box of at most three "
        "dimensions that is not a stack yet. Leave the key out",
        frames.frame_stack, spec.id, shape_text(seen)));
  }
  spec.has_score_range = false;
  if (seen.shape.size() == 2) seen.shape.push_back(1);
  const int last = seen.extents().back();
  const int most = seen.dtype == Dtype::kU8 ? kMostPixelNumbers : kMostPixelFloats;
  if (last > most / frames.frame_stack) {
    return invalid(
        fmt::format("env.frame_stack: got {} for {} {}, observations of {}; expected at most {} "
                    "numbers{} in all",
                    frames.frame_stack, last, seen.shape.empty() ? "numbers" : "channels", spec.id,
                    most, seen.shape.empty() ? "" : " per pixel"));
  }
  const std::size_t channels = static_cast<std::size_t>(last);
  seen.low = repeated(seen.low, channels, frames.frame_stack);
  seen.high = repeated(seen.high, channels, frames.frame_stack);
  seen.size *= frames.frame_stack;
  const Mirror one = spec.mirror;
  if (!seen.shape.empty()) spec.mirror = {};
  for (int k = 1; k < frames.frame_stack && spec.mirror.exists(); ++k) {
    spec.mirror.observation.append(one.observation);
  }
  if (!seen.shape.empty()) seen.shape.back() *= frames.frame_stack;
  seen.frames = frames.frame_stack;
  seen.frame_padding = frames.frame_padding == "zero" ? FramePadding::kZero : FramePadding::kFirst;
  if (seen.frame_padding == FramePadding::kFirst) return {};
  for (float& bound : seen.low) bound = std::min(bound, 0.0f);
  for (float& bound : seen.high) bound = std::max(bound, 0.0f);
  return {};
}

std::unique_ptr<VecEnv> stack_frames(std::unique_ptr<VecEnv> inner, const FrameStack& frames) {
  if (inner->spec().observation.dtype == Dtype::kF32) {
    return std::make_unique<FrameStackEnv<float>>(std::move(inner), frames);
  }
  return std::make_unique<FrameStackEnv<std::uint8_t>>(std::move(inner), frames);
}

const VecEnv& unstacked(const VecEnv& envs) {
  const auto* stacked = dynamic_cast<const FrameStackEnv<std::uint8_t>*>(&envs);
  return stacked == nullptr ? envs : stacked->frames();
}

}  // namespace broadloom
