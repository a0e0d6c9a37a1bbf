#include "research/report/watch_page.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "broadloom/record/manifest.h"
#include "report_assets.h"
#include "research/report/data_page.h"
#include "research/report/json_numbers.h"

namespace broadloom {
namespace {

// A name, or the index of a colour.
Json ink_json(Ink ink) {
  constexpr std::array kNames{"ink", "muted", "faint", "panel", "paper", "accent", "good", "bad"};
  const int index = static_cast<int>(ink), first = static_cast<int>(Ink::kFirstColour);
  static_assert(kNames.size() == static_cast<std::size_t>(Ink::kFirstColour));
  if (index >= first) return Json(index - first);
  return Json(kNames[static_cast<std::size_t>(index)]);
}

// [kind, ink, strength, numbers..., text if there is one].
Json shape_json(const Shape& shape) {
  constexpr std::array kKinds{"line", "polygon", "rectangle", "circle", "text", "image"};
  Json out = Json::array();
  out.push_back(kKinds[static_cast<std::size_t>(shape.kind)]);
  out.push_back(ink_json(shape.ink));
  out.push_back(six_digits(shape.strength));
  for (const double number : shape.numbers) out.push_back(six_digits(number));
  if (!shape.text.empty() || shape.kind == Shape::Kind::kText) out.push_back(shape.text);
  return out;
}

// The number of shapes with which all frames begin.
std::size_t backdrop_size(const std::vector<std::vector<int>>& frames) {
  if (frames.empty()) return 0;
  const std::vector<int>& first = frames.front();
  std::size_t size = first.size();
  for (const std::vector<int>& frame : frames) {
    size = std::min(size, frame.size());
    const auto part = std::mismatch(
        first.begin(), first.begin() + static_cast<std::ptrdiff_t>(size), frame.begin());
    size = static_cast<std::size_t>(part.first - first.begin());
  }
  return size;
}

Json frames_json(const std::vector<std::vector<int>>& frames, std::size_t backdrop) {
  Json out = Json::array();
  for (const std::vector<int>& frame : frames) {
    out.push_back(
        std::vector<int>(frame.begin() + static_cast<std::ptrdiff_t>(backdrop), frame.end()));
  }
  return out;
}

// The environment's words for an action, a discrete action's index, or a list of numbers.
Json actions_json(const FilmedEpisode& filmed, const EnvSpec& spec) {
  Json out = Json::array();
  const std::size_t size = static_cast<std::size_t>(spec.action_size());
  for (std::size_t t = 0; t < filmed.words.size(); ++t) {
    const float* action = &filmed.actions[t * size];
    if (!filmed.words[t].empty()) {
      out.push_back(filmed.words[t]);
    } else if (spec.action.kind == SpaceKind::kDiscrete) {
      out.push_back(static_cast<int>(action[0]));
    } else {
      Json numbers = Json::array();
      for (std::size_t a = 0; a < size; ++a) numbers.push_back(six_digits(action[a]));
      out.push_back(std::move(numbers));
    }
  }
  return out;
}

Json episode_json(const FilmedEpisode& filmed, const EvalEpisode& played, const EnvSpec& spec) {
  Json rewards = Json::array();
  for (const double reward : filmed.rewards) rewards.push_back(six_digits(reward));
  const std::size_t backdrop = backdrop_size(filmed.frames);
  const std::vector<int> shared =
      filmed.frames.empty()
          ? std::vector<int>()
          : std::vector<int>(filmed.frames.front().begin(),
                             filmed.frames.front().begin() + static_cast<std::ptrdiff_t>(backdrop));
  const bool knows_success = spec.names_success && played.end.success >= 0;
  Json out{{"return", six_digits(played.episode_return)},
           {"steps", played.length},
           {"end", end_words(played, spec)},
           {"success", knows_success ? Json(played.end.success == 1) : Json()}};
  out["rewards"] = std::move(rewards);
  out["actions"] = actions_json(filmed, spec);
  out["backdrop"] = shared;
  out["frames"] = frames_json(filmed.frames, backdrop);
  return out;
}

}  // namespace

std::string end_words(const EvalEpisode& episode, const EnvSpec& spec) {
  if (episode.stopped) return "stopped";
  if (episode.end.reason < 0) return "cut";
  return spec.end_reasons[static_cast<std::size_t>(episode.end.reason)];
}

Json watch_json(const WatchedEpisodes& watched, const std::string& source,
                const std::vector<std::string>& command) {
  const Manifest program = make_manifest({}, 0, 1, "");
  const Film& film = watched.film;
  Json json{{"format", 1},
            {"kind", "watch"},
            {"created", program.created},
            {"version", program.version},
            {"revision", program.revision},
            {"command", command},
            {"run", source},
            {"checkpoint", watched.origin.checkpoint},
            {"global_step", watched.origin.global_step},
            {"env_id", watched.spec.id},
            {"action_kinds", actions_name(watched.actions)},
            {"seed", watched.options.seed},
            {"max_steps", watched.options.max_steps},
            {"planes", film.planes()},
            {"pictures_every", film.pictures_every()}};
  const Drawing& view = film.view();
  json["view"] = {six_digits(view.left), six_digits(view.bottom), six_digits(view.right),
                  six_digits(view.top)};
  json["shapes"] = Json::array();
  for (const Shape& shape : film.shapes()) json["shapes"].push_back(shape_json(shape));
  json["episodes"] = Json::array();
  for (std::size_t i = 0; i < watched.episodes.size(); ++i) {
    json["episodes"].push_back(episode_json(film.episodes()[i], watched.episodes[i], watched.spec));
  }
  return json;
}

Result<std::string> watch_page(const std::string& json) {
  return make_data_page({.file = "watch.json",
                         .command = "broadloom watch",
                         .kind = "watch",
                         .title = "Episodes",
                         .scripts = {assets::kWatchStageJs, assets::kWatchJs},
                         .style = assets::kWatchCss,
                         .has_charts = false},
                        json);
}

}  // namespace broadloom
