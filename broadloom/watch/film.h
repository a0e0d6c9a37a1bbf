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
  std::vector<std::vector<int>>
      frames;                      // [steps + 1] each state's shapes, as Film::shapes has them
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
        episodes_(static_cast<std::size_t>(episodes)) {}

  void see(const SeenState& state) override;
  void take(int episode, double reward) override;

  const std::vector<FilmedEpisode>& episodes() const { return episodes_; }
  const std::vector<Shape>& shapes() const { return shapes_; }
  // What all frames together show: its shapes are none.
  const Drawing& view() const { return view_; }
  // Of the images that were drawn for environments that do not draw themselves; 0: there were none.
  int planes() const { return planes_; }

 private:
  int index_of(const Shape& shape);
  void widen_view(const Drawing& drawing);

  Space space_;
  int action_size_;
  std::vector<FilmedEpisode> episodes_;
  std::vector<Shape> shapes_;
  std::unordered_map<std::string, int> known_;  // by all that a shape is
  Drawing view_;
  int planes_ = 0;
};

}  // namespace broadloom
