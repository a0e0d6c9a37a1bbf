// `broadloom watch`: writes episodes of a policy as an animation for a browser, or as a film.
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/evaluate/watch.h"
#include "broadloom/record/files.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/policy_isa.h"
#include "cli/progress.h"
#include "research/report/movie.h"
#include "research/report/watch_page.h"

namespace broadloom::cli {
namespace {

struct WatchCommand {
  std::string source;  // a run or a checkpoint
  bool best = false;
  std::string actions;  // "": as the run's evaluations
  std::string view = "auto";
  std::string out;
  WatchOptions options;
  bool quiet = false, json = false;
};

// In the run's folder; for a checkpoint alone, in the current folder.
std::string page_path(const WatchCommand& command, const WatchedEpisodes& watched) {
  if (!command.out.empty()) return command.out;
  const std::string& run = watched.origin.run_dir;
  return run.empty() ? "watch.html" : run + "/watch.html";
}

void print_episodes(const WatchedEpisodes& watched, const std::string& path) {
  for (std::size_t i = 0; i < watched.episodes.size(); ++i) {
    const EvalEpisode& episode = watched.episodes[i];
    if (episode.stopped && episode.length == 0) continue;  // it had not begun
    tell("Episode {}: return {:.2f}, {} steps, {}\n", i + 1, episode.episode_return,
         with_commas(episode.length), end_words(episode, watched.spec));
    if (episode.end.reason >= 0) continue;
    if (episode.stopped) {
      tell("  It was stopped there, and so is its film\n");
      continue;
    }
    tell("  It was cut there, and its return ends there; --max_steps sets this limit\n");
  }
  if (!watched.why_drawn.empty()) {
    tell("Drawn in two dimensions: {}\n", watched.why_drawn);
  }
  tell("{}\nNext: {}\n", path,
       path.ends_with(".html")  ? "open this page in a browser; Space plays and pauses"
       : path.ends_with(".gif") ? "open this film in a browser"
                                : "open this film in a browser or a video player");
}

Json summary(const WatchCommand& command, const WatchedEpisodes& watched, const std::string& path) {
  Json episodes = Json::array();
  for (const EvalEpisode& episode : watched.episodes) {
    episodes.push_back({{"return", episode.episode_return},
                        {"steps", episode.length},
                        {"end", end_words(episode, watched.spec)}});
  }
  Json out = {{"run_dir", command.source},
              {"global_step", watched.origin.global_step},
              {"seed", watched.options.seed},
              {"actions", actions_name(watched.actions)},
              {"view", view_name(watched.view)},
              {"why_drawn", watched.why_drawn.empty() ? Json() : Json(watched.why_drawn)},
              {"episodes", episodes},
              {"file", path}};
  if (!watched.note.empty()) out["note"] = watched.note;
  return out;
}

// How far each state has got, and how long is left at most: an episode may end before its limit.
// In three dimensions each state takes some 0.1 s, so a line says first how to be faster.
Result<WatchedEpisodes> watch(WatchCommand& command) {
  const bool quiet = command.quiet || command.json;
  ShareLine line(quiet);
  const int episodes = command.options.episodes, most = command.options.max_steps + 1;
  bool is_first = true;
  command.options.on_state = [&](ViewKind view, int episode, int states) {
    if (view == ViewKind::k3d && is_first && !quiet) {
      tell(stderr, "Rendering in 3D, at most {} states; --view drawn takes about a second\n",
           with_commas(std::int64_t{episodes} * most));
    }
    is_first = false;
    line.show_rest(fmt::format("episode {} of {}, state {} of at most {}", episode + 1, episodes,
                               with_commas(states), with_commas(most)),
                   (episode + static_cast<double>(states) / most) / episodes);
  };
  catch_interrupts();
  command.options.should_stop = was_interrupted;
  return watch_run(command.source, command.options);
}

Status write(const WatchCommand& command, const WatchedEpisodes& watched, const std::string& path,
             const std::vector<std::string>& arguments) {
  if (is_movie(path)) {
    MovieFrames frames = film_frames(watched.film);
    if (!was_interrupted()) {  // else the film of what was played is still written
      frames.paint = [paint = frames.paint](std::size_t i, Raster& out) {
        return was_interrupted() ? Status(ErrorKind::kIo, "stopped") : paint(i, out);
      };
    }
    return write_movie(path, frames);
  }
  const Result<std::string> page =
      watch_page(watch_json(watched, command.source, arguments).dump());
  return page.ok() ? write_file_atomically(path, page.value()) : page.status();
}

bool is_stopped(const WatchedEpisodes& watched) {
  return std::any_of(watched.episodes.begin(), watched.episodes.end(),
                     [](const EvalEpisode& episode) { return episode.stopped; });
}

bool has_steps(const WatchedEpisodes& watched) {
  return std::any_of(watched.episodes.begin(), watched.episodes.end(),
                     [](const EvalEpisode& episode) { return episode.length > 0; });
}

// The exit code.
Result<int> run(WatchCommand& command, const std::vector<std::string>& arguments) {
  if (!command.out.empty() && !command.out.ends_with(".html") && !is_movie(command.out)) {
    return invalid(fmt::format(
        "--out: got '{}', expected a file name that ends in .html, .gif or .mp4", command.out));
  }
  BROADLOOM_TRY(check_movie(command.out));  // before it plays
  BROADLOOM_TRY(read_actions(command.actions, command.options.actions));
  const Result<WatchView> view = watch_view_of(command.view);
  if (!view.ok()) return view.status();
  command.options.view = view.value();
  BROADLOOM_TRY(use_best(command.best, command.source));
  BROADLOOM_TRY(use_isa_of_policy(command.source));
  const Result<WatchedEpisodes> watched = watch(command);
  if (!watched.ok()) return watched.status();
  if (!has_steps(watched.value())) {
    if (!command.quiet) tell(stderr, "Stopped before the first step; nothing is written\n");
    return kInterruptedExit;
  }
  const std::string path = page_path(command, watched.value());
  const bool was_played = !was_interrupted();
  const Status written = write(command, watched.value(), path, arguments);
  if (!written.ok() && was_played && was_interrupted()) {
    if (!command.quiet) tell(stderr, "Stopped before {} was whole; it is not written\n", path);
    return kInterruptedExit;
  }
  BROADLOOM_TRY(written);
  const bool is_interrupted = was_interrupted();
  release_interrupts();  // after write(), which removes its temporary files
  if (command.json) {
    print_json(summary(command, watched.value(), path));
  } else if (!command.quiet) {
    print_episodes(watched.value(), path);
    if (!watched.value().note.empty()) tell(stderr, "Note: {}\n", watched.value().note);
  }
  return is_interrupted || is_stopped(watched.value()) ? kInterruptedExit : 0;
}

}  // namespace

void add_watch_command(Command root, Context& context) {
  const Command app = root.add_subcommand(
      "watch", "Show episodes of a policy in a browser (HTML), or as a GIF or MP4");
  const auto command = std::make_shared<WatchCommand>();
  app.add_option("RUN", command->source, "Run folder (its newest checkpoint) or a checkpoint file")
      .required();
  app.add_flag(
      "--best", command->best,
      "Use best.safetensors of the run, the checkpoint of its best evaluation in training");
  app.add_option("--out", command->out,
                 "Page to write (default: watch.html in the run's folder; for a checkpoint file, "
                 "here), or a film: x.gif, or x.mp4 by the program ffmpeg")
      .type_name("FILE");
  app.add_option("--episodes", command->options.episodes, "Episodes to play (default 1)")
      .range(1, kMostWatchedEpisodes)
      .type_name("INT");
  app.add_option("--seed", command->options.seed,
                 "Evaluation seed: shows the episodes that `eval` plays with it (default 1)")
      .type_name("INT");
  app.add_option("--actions", command->actions,
                 "most_likely, or sampled: drawn from the policy, as training explores "
                 "(default: the run's eval_actions)")
      .type_name("WORD");
  app.add_option("--max_steps", command->options.max_steps,
                 "Cut longer episodes after this many steps (default 1000)")
      .range(1, kLongestEvalEpisode)
      .type_name("INT");
  app.add_option(
         "--view", command->view,
         "drawn: in two dimensions; 3d: rendered, for tasks on MuJoCo; auto (default): 3d if "
         "possible")
      .type_name("WORD");
  add_allow_flag(app, context);
  app.add_flag("--quiet", command->quiet, "Print nothing but errors");
  app.add_flag("--json", command->json, "Standard output is one JSON object");
  app.callback([&context, command] {
    context.action = [&context, command] {
      const Result<int> code = run(*command, context.arguments);
      return code.ok() ? code.value() : report_error(code.status(), command->json);
    };
  });
}

}  // namespace broadloom::cli
