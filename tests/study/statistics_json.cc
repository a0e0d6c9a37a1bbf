// statistics_json < INPUT > JSON: statistics of two sets of scores, for rliable_test.py.
//
// INPUT, separated by white space: seed, replicates of points, replicates of profiles; two sets,
// each with its runs, tasks and scores [runs, tasks]; number of thresholds, and the thresholds.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "research/stats/profiles.h"
#include "research/stats/statistics.h"

namespace broadloom {
namespace {

struct Input {
  BootstrapOptions points, bands;
  Scores x, y;
  std::vector<double> thresholds;
};

std::vector<double> read_numbers(std::istream& in, std::size_t count) {
  std::vector<double> numbers(count);
  for (double& number : numbers) in >> number;
  return numbers;
}

Scores read_scores(std::istream& in) {
  Scores scores;
  in >> scores.runs >> scores.tasks;
  scores.values = read_numbers(in, static_cast<std::size_t>(scores.runs * scores.tasks));
  return scores;
}

Input read_input(std::istream& in) {
  Input input;
  in >> input.points.seed >> input.points.replicates >> input.bands.replicates;
  input.bands.seed = input.points.seed;
  input.x = read_scores(in);
  input.y = read_scores(in);
  std::size_t count = 0;
  in >> count;
  input.thresholds = read_numbers(in, count);
  return input;
}

std::string number(double x) { return std::isfinite(x) ? fmt::format("{}", x) : "null"; }

std::string triple(const Estimate& e) {
  return fmt::format("[{}, {}, {}]", number(e.value), number(e.low), number(e.high));
}

std::string triples(const std::vector<Estimate>& estimates) {
  std::string out;
  for (const Estimate& e : estimates) out += (out.empty() ? "" : ", ") + triple(e);
  return "[" + out + "]";
}

Result<std::string> statistics(const Input& input) {
  const Result<Aggregates> all = aggregate(input.x, input.points);
  if (!all.ok()) return all.status();
  const Result<Estimate> better = probability_of_improvement(input.x, input.y, input.points);
  if (!better.ok()) return better.status();
  const Result<PerformanceProfile> runs =
      performance_profile(input.x, input.thresholds, ProfileKind::kRunScores, input.bands);
  if (!runs.ok()) return runs.status();
  const Result<PerformanceProfile> means =
      performance_profile(input.x, input.thresholds, ProfileKind::kTaskMeans, input.bands);
  if (!means.ok()) return means.status();
  return fmt::format(
      "{{\"iqm\": {}, \"median\": {}, \"mean\": {}, \"optimality_gap\": {},\n"
      " \"probability_of_improvement\": {},\n \"run_profile\": {},\n \"mean_profile\": {}}}\n",
      triple(all.value().iqm), triple(all.value().median), triple(all.value().mean),
      triple(all.value().optimality_gap), triple(better.value()), triples(runs.value().shares),
      triples(means.value().shares));
}

}  // namespace
}  // namespace broadloom

int main() {
  const broadloom::Result<std::string> json =
      broadloom::statistics(broadloom::read_input(std::cin));
  if (!json.ok()) std::fprintf(stderr, "%s\n", json.status().message().c_str());
  if (json.ok()) std::fputs(json.value().c_str(), stdout);
  return static_cast<int>(json.status().kind());
}
