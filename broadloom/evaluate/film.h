// Records episodes for a page that shows them.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "broadloom/env/drawing.h"
#include "broadloom/env/spec.h"
#include "broadloom/evaluate/evaluator.h"

namespace broadloom {

struct FilmedEpisode {
  // [steps + 1] shapes of each state as indices into Film::shapes; those of the state before if the
  // drawing was as_before.
  std::vector<std::vector<int>> frames;
  std::vector<float> actions;      // [steps, A]
  std::vector<std::string> words;  // [steps] names of the actions; "": none
  std::vector<double> rewards;     // [steps]
};

// Keeps every shape once, even if it is in many frames. Environments without their own drawings are
// drawn from observations that are small images (planes.h). Not thread-safe.
class Film final : public EpisodeWatcher {
 public:
  Film() : Film(EnvSpec{}, 0) {}  // empty
  // spec: of the environment. group_frames: of its observation (env/tasks/asked_frames.h); empty:
  // no stacks.
  Film(const EnvSpec& spec, int episodes, std::vector<int> group_frames = {})
      : space_(spec.observation),
        group_frames_(std::move(group_frames)),
        action_size_(spec.action_size()),
        episodes_(static_cast<std::size_t>(episodes)),
        waits_(episodes_.size()) {}

  void see(const SeenState& state) override;
  void take(int episode, double reward) override;

  const std::vector<FilmedEpisode>& episodes() const { return episodes_; }
  const std::vector<Shape>& shapes() const { return shapes_; }
  // The view that contains all frames; it has no shapes.
  const Drawing& view() const { return view_; }
  // Planes of the images drawn for environments without their own drawings; 0: none.
  int planes() const { return planes_; }
  // With pictures (Shape::Kind::kImage), each n-th state has a new one and those between repeat it;
  // 0: no pictures.
  int pictures_every() const { return has_pictures_ ? longest_wait_ + 1 : 0; }

 private:
  int index_of(const Shape& shape);
  std::vector<int> indices_of(const SeenState& state);
  void widen_view(const Drawing& drawing);

  Space space_;
  std::vector<int> group_frames_;
  int action_size_;
  std::vector<FilmedEpisode> episodes_;
  std::vector<int> waits_;  // of each episode: states since its last drawing
  std::vector<Shape> shapes_;
  std::unordered_map<std::string, int> known_;  // by all properties of a shape
  Drawing view_;
  int planes_ = 0;
  int longest_wait_ = 0;
  bool has_pictures_ = false;
};

}  // namespace broadloom
