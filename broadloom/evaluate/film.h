// Episodes as they were seen: what a page needs to show them again.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "broadloom/env/drawing.h"
#include "broadloom/env/spec.h"
#include "broadloom/evaluate/evaluator.h"

namespace broadloom {

struct FilmedEpisode {
  // [steps + 1] each state's shapes, as Film::shapes has them. Those of the state before where the
  // drawing was as_before.
  std::vector<std::vector<int>> frames;
  std::vector<float> actions;      // [steps, A]
  std::vector<std::string> words;  // [steps] of the actions; "": none
  std::vector<double> rewards;     // [steps]
};

// Keeps every shape once, however many frames it is in. Environments that do not draw themselves
// are drawn by their observations where those are small images (planes.h). Not for several threads.
class Film final : public EpisodeWatcher {
 public:
  Film() : Film(EnvSpec{}, 0) {}  // of nothing
  // spec: of what is played.
  Film(const EnvSpec& spec, int episodes)
      : space_(spec.observation),
        action_size_(spec.action_size()),
        episodes_(static_cast<std::size_t>(episodes)),
        waits_(episodes_.size()) {}

  void see(const SeenState& state) override;
  void take(int episode, double reward) override;

  const std::vector<FilmedEpisode>& episodes() const { return episodes_; }
  const std::vector<Shape>& shapes() const { return shapes_; }
  // What all frames together show: its shapes are none.
  const Drawing& view() const { return view_; }
  // Of the images that were drawn for environments that do not draw themselves; 0: there were none.
  int planes() const { return planes_; }
  // Where pictures are shown (Shape::Kind::kImage): each n-th state has one of its own, and those
  // between show the one before; 0: there are no pictures.
  int pictures_every() const { return has_pictures_ ? longest_wait_ + 1 : 0; }

 private:
  int index_of(const Shape& shape);
  std::vector<int> indices_of(const SeenState& state);
  void widen_view(const Drawing& drawing);

  Space space_;
  int action_size_;
  std::vector<FilmedEpisode> episodes_;
  std::vector<int> waits_;  // of each episode: states since it was last drawn
  std::vector<Shape> shapes_;
  std::unordered_map<std::string, int> known_;  // by all that a shape is
  Drawing view_;
  int planes_ = 0;
  int longest_wait_ = 0;
  bool has_pictures_ = false;
};

}  // namespace broadloom
