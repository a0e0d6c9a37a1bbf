// Which arm is best, as far as the comparisons allow to say so.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "broadloom/findings/report_model.h"

namespace broadloom {

// Arms that a reader would rank together: those of one task, or of all tasks where two or more arms
// have them all and scores can be normalised.
struct RankedArms {
  int task = -1;          // an index; -1: all tasks together
  std::vector<int> arms;  // by their IQM, the largest first; without repeats of other arms' runs
  int without = 0;        // arms that have no such score yet
};

// One for all tasks, or else one for each of the first three; those without any score left out.
std::vector<RankedArms> ranked_arms(const StudyReport& report, ReportScore score);

// A comparison that a sentence rests on.
struct ShownComparison {
  int a = 0, b = 0;  // a < b
  int task = -1;     // -1: the comparison itself, over all tasks that the two have
  bool enough_runs = false, different = false;
  bool operator==(const ShownComparison& other) const {
    return a == other.a && b == other.b && task == other.task;
  }
};

// Adds it unless it is there.
void add_shown(const ShownComparison& comparison, std::vector<ShownComparison>& shown);

// Sentences on the best arm. An arm is called best only where a comparison tells it from every
// other one; otherwise those that cannot be told from the one with the largest IQM are named.
std::vector<std::string> best_sentences(const StudyReport& report, ReportScore score,
                                        std::vector<ShownComparison>& shown);

}  // namespace broadloom
