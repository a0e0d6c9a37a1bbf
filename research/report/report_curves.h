// Learning curves of a report: interquartile means of metrics along steps and time.
#pragma once

#include <string>
#include <vector>

#include "research/report/report_model.h"
#include "research/report/study_results.h"
#include "research/stats/sample_efficiency.h"

namespace broadloom {

inline constexpr char kReturnKey[] = "episodic_return";
inline constexpr char kEvaluationKey[] = "evaluation_return";  // runs of two evaluations or more
// Of one curve; longer ones are thinned evenly, the last point stays.
inline constexpr std::size_t kMostPoints = 101;

// What a run reported under a key, where it reported a number.
Curve curve_of(const ResultRun& run, const std::string& key);

// The keys that some finished run has numbers of, returns first, then in the order of
// declared_numbers(); others by the alphabet.
std::vector<std::string> curve_keys(const std::vector<StudyResults>& results);

// A title and a unit in words, as declared; of a number that is not, its key.
ReportInstrument instrument_of(const std::string& key);

// At the steps of the grid where all runs have a number; runs that never have one are left out. No
// points where that leaves none.
ReportCurve curve_over_steps(const std::vector<const ResultRun*>& runs, const std::string& key,
                             const BootstrapOptions& options);

// The numbers of a key (training returns or evaluations) at `points` times, evenly to the end of
// the longest run, from the first one on at which all runs have one. Each run stands at its last
// known number, after its end too. Evaluations are as late as what the run reported says of their
// steps.
ReportCurve curve_over_time(const std::vector<const ResultRun*>& runs, const std::string& key,
                            int points, const BootstrapOptions& options);

}  // namespace broadloom
