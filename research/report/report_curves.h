// Learning curves of a report: interquartile means of metrics over steps and over time.
#pragma once

#include <string>
#include <vector>

#include "research/report/report_model.h"
#include "research/report/study_results.h"
#include "research/stats/sample_efficiency.h"

namespace broadloom {

inline constexpr char kReturnKey[] = "episodic_return";
inline constexpr char kEvaluationKey[] = "evaluation_return";  // runs with at least two evaluations
// Most points of a curve. Longer curves are thinned evenly and keep the last point.
inline constexpr std::size_t kMostPoints = 101;

// A run's numbers of one key, where it has them.
Curve curve_of(const ResultRun& run, const std::string& key);

// Keys with numbers in some finished run: returns first, then in the order of declared_numbers(),
// then the others alphabetically.
std::vector<std::string> curve_keys(const std::vector<StudyResults>& results);

// The declared title and unit of a number; its key if it is not declared.
ReportInstrument instrument_of(const std::string& key);

// The IQM at the grid's steps where all runs have a number. Runs that never have one are left out.
// No points if none remain.
ReportCurve curve_over_steps(const std::vector<const ResultRun*>& runs, const std::string& key,
                             const BootstrapOptions& options);

// The IQM of a key (training returns or evaluations) at `points` evenly spaced times up to the end
// of the longest run, from the first time at which all runs have a number. Each run counts with its
// last known number, even after its end. The time of an evaluation is that of its step.
ReportCurve curve_over_time(const std::vector<const ResultRun*>& runs, const std::string& key,
                            int points, const BootstrapOptions& options);

}  // namespace broadloom
