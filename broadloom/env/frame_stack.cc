#include "broadloom/env/frame_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broadloom/env/group_setting.h"
#include "broadloom/env/rewrapping_vec_env.h"

namespace broadloom {
namespace {

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

// The place of a group in an observation of one frame, and in one of stacks.
struct StackedGroup {
  FrameLayout layout;
  std::size_t first = 0;            // of the frame's numbers
  std::size_t place = 0, size = 0;  // of the stacks' numbers
};

// The groups; a Box without them is one.
std::vector<ObservationGroup> groups_of(const Space& seen) {
  if (!seen.groups.empty()) return seen.groups;
  return {{"", seen.extents(), seen.dtype, 1.0f, 0, seen.size, 0}};
}

// Numbers of each pixel of a frame. A vector is one pixel, and an image [H, W] has one channel.
int channels_of(const ObservationGroup& group) {
  if (group.shape.size() < 2) return group.size;
  return group.shape.size() == 2 ? 1 : group.shape.back();
}

FramePadding padding_of(const FrameStack& frames) {
  return frames.frame_padding == "zero" ? FramePadding::kZero : FramePadding::kFirst;
}

std::vector<StackedGroup> stacked_groups(const FrameStack& frames, const EnvSpec& spec) {
  const Result<std::vector<int>> counts = stack_counts(frames, spec);
  std::vector<StackedGroup> out;
  if (!counts.ok()) return out;  // checked before construction
  std::size_t place = 0;
  for (const ObservationGroup& group : groups_of(spec.observation)) {
    const int count = counts.value()[out.size()];
    const std::size_t size = static_cast<std::size_t>(group.size) * static_cast<std::size_t>(count);
    out.push_back({{count, channels_of(group), padding_of(frames)},
                   static_cast<std::size_t>(group.first),
                   place,
                   size});
    place += size;
  }
  return out;
}

template <class Number>
class FrameStackEnv final : public RewrappingVecEnv {
 public:
  FrameStackEnv(std::unique_ptr<VecEnv> inner, const FrameStack& frames)
      : RewrappingVecEnv(std::move(inner)),
        frames_(frames),
        spec_(this->inner().spec()),
        groups_(stacked_groups(frames, spec_)),
        has_final_frames_(traits().has_final_observations),
        has_fillers_(traits().filler_rows) {
    frame_size_ = static_cast<std::size_t>(spec_.observation_size());
    (void)describe_frame_stack(frames, spec_).ok();  // checked before construction
    size_ = static_cast<std::size_t>(spec_.observation_size());
    const std::size_t count = static_cast<std::size_t>(num_envs());
    stacks_.resize(count * size_);
    if (2 * frame_size_ > size_) finals_.resize(count * frame_size_);
    if (has_fillers_) fillers_.resize(count);
    begin_stacks();
  }

  const EnvSpec& spec() const override { return spec_; }

  void observe(int begin, int end, ObservationRows rows) const override {
    const Number* source = &stacks_[static_cast<std::size_t>(begin) * size_];
    std::copy_n(source, static_cast<std::size_t>(end - begin) * size_, rows.as<Number>());
  }

  // The wrapped environments write frames into the caller's rows, which the stacks overwrite at the
  // end. Stacks of at least two frames leave room there for the final frames, too.
  Status step(int begin, int end, const StepRows& rows) override {
    const std::size_t count = static_cast<std::size_t>(end - begin);
    for (int i = begin; has_fillers_ && i < end; ++i) {
      fillers_[static_cast<std::size_t>(i)] = inner().next_is_filler(i) ? 1 : 0;
    }
    StepRows frame_rows = rows;
    frame_rows.final_observations =
        finals_.empty() ? rows.observations.offset_by(count * frame_size_)
                        : ObservationRows(&finals_[static_cast<std::size_t>(begin) * frame_size_]);
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
  int longest() const {
    int most = 1;
    for (const StackedGroup& group : groups_) most = std::max(most, group.layout.count);
    return most;
  }

 private:
  std::unique_ptr<VecEnv> wrap(std::unique_ptr<VecEnv> others,
                               const VecEnvOptions&) const override {
    return stack_frames(std::move(others), frames_);
  }

  Number* stack_of(std::size_t env) { return &stacks_[env * size_]; }

  void push(const Number* frame, Number* stack) const {
    for (const StackedGroup& group : groups_) {
      push_frame(group.layout, group.size, frame + group.first, stack + group.place);
    }
  }
  void begin(const Number* frame, Number* stack) const {
    for (const StackedGroup& group : groups_) {
      begin_stack(group.layout, group.size, frame + group.first, stack + group.place);
    }
  }

  // Fills all stacks from current observations. One call for all, as whole-batch simulators need.
  void begin_stacks() {
    const std::size_t count = static_cast<std::size_t>(num_envs());
    std::vector<Number> frames(count * frame_size_);
    inner().observe(0, num_envs(), frames.data());
    for (std::size_t n = 0; n < count; ++n) {
      begin(&frames[n * frame_size_], stack_of(n));
    }
  }

  // Updates the stack of environment `env` from row k of a step.
  void take_frame(std::size_t env, std::size_t k, const StepRows& rows, const StepRows& frames) {
    const Number* frame = frames.observations.as<Number>() + k * frame_size_;
    Number* stack = stack_of(env);
    if (has_fillers_ && fillers_[env] != 0) return begin(frame, stack);
    if ((rows.terminated[k] | rows.truncated[k]) == 0) return push(frame, stack);
    // If a reset takes a step, the frame still is the ended episode's last one.
    const bool begins = !has_fillers_ || !inner().next_is_filler(static_cast<int>(env));
    const bool is_final = rows.final_observations && has_final_frames_;
    if (is_final) frame_final(k, rows, frames, stack);
    if (begins) return begin(frame, stack);
    if (!is_final) push(frame, stack);
  }

  void frame_final(std::size_t k, const StepRows& rows, const StepRows& frames, Number* stack) {
    push(frames.final_observations.as<Number>() + k * frame_size_, stack);
    std::copy_n(stack, size_, rows.final_observations.as<Number>() + k * size_);
  }

  FrameStack frames_;
  EnvSpec spec_;
  std::vector<StackedGroup> groups_;
  bool has_final_frames_, has_fillers_;
  std::size_t frame_size_ = 0, size_ = 0;  // numbers of a frame and of a stack
  std::vector<Number> stacks_;             // [N, D]
  std::vector<Number> finals_;             // [N, D of a frame], not saved; empty: rows have room
  std::vector<std::uint8_t> fillers_;      // [N] whether this step is no transition; empty: none is
};

constexpr GroupSettingRule kStackOf{.key = "env.frame_stack_of",
                                    .whole = "env.frame_stack stacks the whole",
                                    .expected = "a stack of 1 to 64, as image:4",
                                    .least = 1,
                                    .most = kMostFrames};

std::string key_text(const FrameStack& frames) {
  return frames.frame_stack_of.empty()
             ? fmt::format("env.frame_stack: got {}", frames.frame_stack)
             : fmt::format("env.frame_stack_of: got {}", fmt::join(frames.frame_stack_of, ","));
}

// Turns a group of frames into one of stacks, and adds its numbers with their bounds to `out`.
Status add_stack(const FrameStack& frames, int count, const EnvSpec& spec, ObservationGroup& group,
                 Space& out) {
  const Space& seen = spec.observation;
  const std::string owner =
      group.name.empty() ? spec.id : fmt::format("group '{}' of {}", group.name, spec.id);
  if (count > 1 && group.shape.size() > 3) {
    return invalid(fmt::format("{} for the shape ({}), {}; expected at most three dimensions{}",
                               key_text(frames), fmt::join(group.shape, ", "), owner,
                               group.name.empty() ? "" : "; env.frame_stack_of stacks others"));
  }
  const int channels = channels_of(group);
  const int most = group.dtype == Dtype::kU8 ? kMostPixelNumbers : kMostPixelFloats;
  if (count > 1 && channels > most / count) {
    const bool is_vector = group.shape.size() < 2;
    return invalid(fmt::format(
        "{} for {} {}, observations of {}; expected at most {} numbers{} in all", key_text(frames),
        channels, is_vector ? "numbers" : "channels", owner, most, is_vector ? "" : " per pixel"));
  }
  const bool has_zeros = count > 1 && padding_of(frames) == FramePadding::kZero;
  for (int first = group.first; first < group.first + group.size; first += channels) {
    for (int k = 0; k < count; ++k) {
      for (int i = first; i < first + channels; ++i) {
        const float low = seen.low[static_cast<std::size_t>(i)];
        const float high = seen.high[static_cast<std::size_t>(i)];
        out.low.push_back(has_zeros ? std::min(low, 0.0f) : low);
        out.high.push_back(has_zeros ? std::max(high, 0.0f) : high);
      }
    }
  }
  group.first = out.size;
  group.size *= count;
  out.size += group.size;
  if (count == 1) return {};
  if (group.dtype == Dtype::kI64) {
    group.dtype = Dtype::kU8;
    group.start = 0;
  }
  if (group.shape.size() % 2 == 0) group.shape.push_back(1);  // one number, or a grey image
  group.shape.back() *= count;
  return {};
}

}  // namespace

bool shows_frames(const EnvSpec& spec) {
  const Space& seen = spec.observation;
  return seen.kind == SpaceKind::kBox && seen.frames == 1 && seen.extents().size() <= 3;
}

Result<std::vector<int>> stack_counts(const FrameStack& frames, const EnvSpec& spec) {
  std::vector<int> counts(std::max<std::size_t>(spec.observation.groups.size(), 1),
                          frames.frame_stack);
  for (const std::string& text : frames.frame_stack_of) {
    const Result<GroupSetting> one = group_setting(kStackOf, text, spec);
    if (!one.ok()) return one.status();
    counts[one.value().group] = one.value().least;
  }
  return counts;
}

Status describe_frame_stack(const FrameStack& frames, EnvSpec& spec) {
  if (!frames.any()) return {};
  if (frames.frame_stack > 1 && !frames.frame_stack_of.empty()) {
    return invalid(fmt::format(
        "{}, beside env.frame_stack = {}; expected one of the two: name every group, or leave "
        "env.frame_stack_of out",
        key_text(frames), frames.frame_stack));
  }
  Space& seen = spec.observation;
  if (!shows_frames(spec)) {
    return invalid(
        fmt::format("{}, but observations of {} are {}; expected a Box of at most three "
                    "dimensions that is not a stack yet. Leave the key out",
                    key_text(frames), spec.id, shape_text(seen)));
  }
  const Result<std::vector<int>> counts = stack_counts(frames, spec);
  if (!counts.ok()) return counts.status();
  std::vector<ObservationGroup> groups = groups_of(seen);
  Space stacked = seen;
  stacked.size = 0;
  stacked.low.clear();
  stacked.high.clear();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    BROADLOOM_TRY(add_stack(frames, counts.value()[g], spec, groups[g], stacked));
  }
  stacked.frame_padding = padding_of(frames);
  if (!seen.shape.empty()) spec.mirror = {};
  if (seen.groups.empty()) {
    stacked.frames = frames.frame_stack;
    if (!seen.shape.empty()) stacked.shape = groups.front().shape;
  } else {
    stacked.shape.clear();
    stacked.groups = std::move(groups);
  }
  const SignedPermutation one = spec.mirror.observation;
  for (int k = 1; k < stacked.frames; ++k) spec.mirror.observation.append(one);
  spec.has_score_range = false;
  seen = std::move(stacked);
  return {};
}

std::unique_ptr<VecEnv> stack_frames(std::unique_ptr<VecEnv> inner, const FrameStack& frames) {
  if (inner->spec().observation.dtype == Dtype::kF32) {
    return std::make_unique<FrameStackEnv<float>>(std::move(inner), frames);
  }
  return std::make_unique<FrameStackEnv<std::uint8_t>>(std::move(inner), frames);
}

int longest_stack(const VecEnv& envs) {
  const auto* grouped = dynamic_cast<const FrameStackEnv<float>*>(&envs);
  return grouped == nullptr ? envs.spec().observation.frames : grouped->longest();
}

const VecEnv& unstacked(const VecEnv& envs) {
  const auto* stacked = dynamic_cast<const FrameStackEnv<std::uint8_t>*>(&envs);
  return stacked == nullptr ? envs : stacked->frames();
}

}  // namespace broadloom
