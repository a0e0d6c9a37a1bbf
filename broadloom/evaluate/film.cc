#include "broadloom/evaluate/film.h"

#include <algorithm>
#include <utility>

#include "broadloom/evaluate/planes.h"

namespace broadloom {
namespace {

template <class Number>
void append_bytes(const Number& number, std::string& out) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Equal shapes have equal keys.
std::string key_of(const Shape& shape) {
  std::string key;
  append_bytes(shape.kind, key);
  append_bytes(shape.ink, key);
  append_bytes(shape.strength, key);
  append_bytes(shape.numbers.size(), key);
  for (const double number : shape.numbers) append_bytes(number, key);
  return key + shape.text;
}

}  // namespace

void Film::see(const SeenState& state) {
  FilmedEpisode& episode = episodes_[static_cast<std::size_t>(state.episode)];
  if (state.action != nullptr) {
    episode.actions.insert(episode.actions.end(), state.action, state.action + action_size_);
    episode.words.push_back(state.drawing.action);
  }
  int& wait = waits_[static_cast<std::size_t>(state.episode)];
  const bool as_before = state.drawing.as_before && !episode.frames.empty();
  wait = as_before ? wait + 1 : 0;
  longest_wait_ = std::max(longest_wait_, wait);
  episode.frames.push_back(as_before ? episode.frames.back() : indices_of(state));
}

std::vector<int> Film::indices_of(const SeenState& state) {
  Drawing image;
  if (state.drawing.empty() && is_small_image(space_)) {
    draw_planes(space_, state.observation.bytes(), image);
    planes_ = planes_of(space_);
  }
  const ObservationGroup* const group = small_image_group(space_);
  if (state.drawing.empty() && group != nullptr) {
    const auto g = static_cast<std::size_t>(group - space_.groups.data());
    const int frames = group_frames_.empty() ? 1 : group_frames_[g];
    planes_ = draw_group(*group, frames, state.observation.floats(), image);
  }
  const Drawing& drawing = image.empty() ? state.drawing : image;
  std::vector<int> indices;
  indices.reserve(drawing.shapes.size());
  for (const Shape& shape : drawing.shapes) {
    indices.push_back(index_of(shape));
    has_pictures_ = has_pictures_ || shape.kind == Shape::Kind::kImage;
  }
  if (!drawing.empty()) widen_view(drawing);
  return indices;
}

void Film::take(int episode, double reward) {
  episodes_[static_cast<std::size_t>(episode)].rewards.push_back(reward);
}

int Film::index_of(const Shape& shape) {
  const auto [place, is_new] = known_.try_emplace(key_of(shape), static_cast<int>(shapes_.size()));
  if (is_new) shapes_.push_back(shape);
  return place->second;
}

void Film::widen_view(const Drawing& drawing) {
  const bool is_first = view_.left == view_.right;
  view_.left = is_first ? drawing.left : std::min(view_.left, drawing.left);
  view_.bottom = is_first ? drawing.bottom : std::min(view_.bottom, drawing.bottom);
  view_.right = is_first ? drawing.right : std::max(view_.right, drawing.right);
  view_.top = is_first ? drawing.top : std::max(view_.top, drawing.top);
}

}  // namespace broadloom
