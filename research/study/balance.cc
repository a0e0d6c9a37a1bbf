#include "research/study/balance.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace broadloom {

std::vector<RunPart> balance(std::vector<PredictedRun> runs, std::size_t count) {
  std::sort(runs.begin(), runs.end(), [](const PredictedRun& a, const PredictedRun& b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.id < b.id;
  });
  std::vector<RunPart> parts(std::min(count, runs.size()));
  // The least loaded part is on top; ties go to fewer runs, which spreads runs of zero length.
  using Load = std::pair<std::pair<double, std::size_t>, std::size_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (std::size_t p = 0; p < parts.size(); ++p) least.push({{0.0, 0}, p});
  for (const PredictedRun& run : runs) {
    const std::size_t p = least.top().second;
    least.pop();
    parts[p].runs.push_back(run.id);
    parts[p].seconds += run.seconds;
    least.push({{parts[p].seconds, parts[p].runs.size()}, p});
  }
  for (RunPart& part : parts) std::sort(part.runs.begin(), part.runs.end());
  return parts;
}

double longest_seconds(const std::vector<RunPart>& parts) {
  double longest = 0.0;
  for (const RunPart& part : parts) longest = std::max(longest, part.seconds);
  return longest;
}

}  // namespace broadloom
