#include "research/study/launch_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace broadloom {
namespace {

std::string duration_text(double seconds) {
  if (seconds < 10.0) return fmt::format("{:.1f} s", seconds);
  return seconds < 120.0 ? fmt::format("{:.0f} s", seconds)
                         : fmt::format("{:.0f} min", seconds / 60.0);
}

std::string count_text(std::size_t count, const std::string& one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

// The sources of the cells' predictions, in words.
std::string sources_text(const std::vector<CellPrediction>& cells) {
  constexpr std::pair<PredictionSource, const char*> kSources[] = {
      {PredictionSource::kTiming, "timed here"},
      {PredictionSource::kRuns, "from finished runs in the store"},
      {PredictionSource::kOtherCell, "as fast as the most similar cell"}};
  std::string text;
  for (const auto& [source, words] : kSources) {
    const auto count = std::count_if(
        cells.begin(), cells.end(),
        [wanted = source](const CellPrediction& cell) { return cell.source == wanted; });
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        count_text(static_cast<std::size_t>(count), "cell"), words);
  }
  return text;
}

}  // namespace

std::string launch_words(const JobQueue& queue, const StudyPlan& plan, const LaunchPlan& planned,
                         const LaunchOptions& options) {
  std::size_t runs = 0;
  const double longest = longest_seconds(planned.parts);
  double shortest = longest;
  for (const RunPart& part : planned.parts) {
    runs += part.runs.size();
    shortest = std::min(shortest, part.seconds);
  }
  const JobLimits& limits = planned.limits;
  std::string text = fmt::format(
      "{}: {} of {} in {}{}; partition {}, {}, {} MB and {} each. Predicted: {} in all, {} to {} a "
      "job ({}).",
      queue.title(), runs, count_text(plan.runs.size(), "run"),
      count_text(planned.parts.size(), "job"),
      options.study.jobs > 0 ? fmt::format(", {} at once", options.study.jobs) : "",
      limits.partition, count_text(static_cast<std::size_t>(limits.minutes), "minute"),
      limits.memory_bytes >> 20, count_text(static_cast<std::size_t>(limits.threads), "thread"),
      duration_text(planned.seconds), duration_text(shortest), duration_text(longest),
      sources_text(planned.cells));
  const int needed = minutes_for(longest);
  if (needed <= limits.minutes) return text;
  return text +
         fmt::format(
             " The longest job should have {} minutes; run the same command again to train the "
             "runs that it does not finish.",
             needed);
}

}  // namespace broadloom
