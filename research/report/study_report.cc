#include "research/report/study_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "research/report/report_answer.h"
#include "research/report/report_arms.h"
#include "research/report/report_cells.h"
#include "research/report/report_comparisons.h"
#include "research/report/report_lines.h"
#include "research/report/report_notes.h"
#include "research/report/report_ranking.h"
#include "research/report/report_tasks.h"
#include "research/report/report_troubles.h"
#include "research/report/report_two_way.h"
#include "research/report/report_words.h"
#include "research/report/study_results.h"
#include "research/report/tuned_results.h"
#include "research/study/study_definition.h"

namespace broadloom {
namespace {

constexpr int kFewestReplicates = 2000;
constexpr int kFewestBandReplicates = 200;

// The replicates asked for, or as many as `cost` of each allows within the budget.
int affordable_replicates(int wanted, double cost, double budget, int fewest) {
  if (cost * wanted <= budget) return wanted;
  const int few = static_cast<int>(budget / cost) / fewest * fewest;
  return std::min(wanted, std::max(fewest, few));
}

// Upper bound of random draws in one replicate of all comparisons.
double comparison_draws(const StudyReport& report) {
  const auto arms = static_cast<double>(report.arms.size());
  const double pairs =
      std::min(arms * (arms - 1.0) / 2.0, std::max<double>(kMostPairs, 16.0 * arms));
  double runs = 0.0;
  for (const ReportCell& cell : report.cells) runs += cell.samples.finished;
  constexpr double kSides = 2.0, kKinds = 2.0;
  const double times = report.tasks.size() > 1 ? 2.0 : 1.0;  // over all tasks, and for each task
  return pairs * kSides * kKinds * times * runs / std::max(1.0, arms);
}

// Says how far the report is, by random draws.
class PartTeller {
 public:
  PartTeller(const StudyReportOptions& options, double curve_numbers, const StudyReport& report)
      : options_(options),
        cells_(report.cells.size()),
        arms_(report.arms.size()),
        curves_(curve_numbers * report.band_replicates),
        comparisons_(comparison_draws(report) * report.replicates) {}

  void curves() const { tell(fmt::format("intervals of {}", counted(cells_, "cell")), 0.0); }
  void comparisons() const {
    const double all = curves_ + comparisons_;
    tell(fmt::format("comparisons of {}", counted(arms_, "arm")), all > 0.0 ? curves_ / all : 0.0);
  }

 private:
  static std::string counted(std::size_t count, const char* what) {
    return count_words(static_cast<std::int64_t>(count), what);
  }
  void tell(const std::string& what, double share) const {
    constexpr double kDrawsASecond = 1.25e8;  // of one core
    const double seconds = (curves_ + comparisons_) / kDrawsASecond / std::max(1, options_.threads);
    if (options_.on_part) options_.on_part(what, share, seconds);
  }

  const StudyReportOptions& options_;
  std::size_t cells_, arms_;
  double curves_, comparisons_;
};

Result<std::vector<StudyResults>> read_all(const std::vector<std::string>& stores) {
  if (stores.empty()) return Status(ErrorKind::kInvalidConfig, "no store given; name at least one");
  std::vector<StudyResults> results;
  for (const std::string& store : stores) {
    Result<StudyResults> read = read_study_results(store);
    if (!read.ok()) return read.status();
    for (std::size_t i = 0; i < results.size(); ++i) {
      const bool is_same = results[i].hash == read.value().hash &&
                           same_sources(results[i].definition, read.value().definition);
      if (!is_same) continue;
      return Status(
          ErrorKind::kInvalidConfig,
          fmt::format("'{}' and '{}' belong to the same study: name one of them, or merge "
                      "parts with `broadloom study merge`",
                      stores[i], store));
    }
    results.push_back(read.take());
  }
  return results;
}

// Requested keys, then keys of the studies' definitions.
std::vector<std::string> tuned_keys_of(const StudyReportOptions& options,
                                       const std::vector<StudyResults>& results) {
  std::vector<std::string> keys = options.tuned;
  for (const StudyResults& study : results) {
    for (std::string& key : tuned_keys(study)) keys.push_back(std::move(key));
  }
  std::vector<std::string> once;
  for (const std::string& key : keys) {
    if (std::find(once.begin(), once.end(), key) == once.end()) once.push_back(key);
  }
  return once;
}

}  // namespace

const char* score_name(ReportScore score) {
  return score == ReportScore::kTraining ? "training" : "evaluation";
}

Result<StudyReport> make_study_report(const std::vector<std::string>& stores,
                                      const StudyReportOptions& options) {
  BROADLOOM_TRY(check_bootstrap({options.replicates, options.seed, options.threads}));
  BROADLOOM_TRY(check_bootstrap({options.band_replicates, options.seed, options.threads}));
  Result<std::vector<StudyResults>> results = read_all(stores);
  if (!results.ok()) return results.status();
  if (!options.task.empty()) BROADLOOM_TRY(keep_task(options.task, results.value()));
  StudyReport report;
  report.tuned = tuned_keys_of(options, results.value());
  if (!report.tuned.empty()) BROADLOOM_TRY(tune_results(report.tuned, results.value()));
  report.seed = options.seed;
  describe_studies(results.value(), report);
  report.replicates = affordable_replicates(options.replicates, comparison_draws(report),
                                            options.most_draws, kFewestReplicates);
  report.band_replicates =
      affordable_replicates(options.band_replicates, curve_numbers(results.value()),
                            options.most_band_draws, kFewestBandReplicates);
  const PartTeller tell_part(options, curve_numbers(results.value()), report);
  tell_part.curves();
  measure_cells(results.value(), options.threads, report);
  normalise_arms(options.threads, report);
  report.lines = gather_lines(report);
  tell_part.comparisons();
  compare_arms(choose_pairs(report), options.threads, report);
  find_leaders(report);
  measure_lines(options.threads, report);
  report.calls = count_calls(report);
  report.two_way = ask_two_way(report);
  report.troubles = find_troubles(report);
  report.notes = report_notes(results.value(), options, report);
  report.heading = heading_of(report);
  report.answer = answer_of(report);
  return report;
}

}  // namespace broadloom
