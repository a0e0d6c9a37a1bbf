// The tables of `broadloom study`.
#pragma once

#include <cstdio>

#include "broadloom/record/json.h"
#include "research/study/plan.h"
#include "research/study/runner.h"

namespace broadloom::cli {

// What every cell costs and in what it is matched, before anything starts. whole: of all cells;
// otherwise of two dozen at most, and how many more there are.
void print_study_plan(std::FILE* stream, const StudyPlan& plan, const StudyPart& part, bool whole);

// Mean and interquartile mean of every cell, with 95 % intervals (bootstrap over runs).
void print_study_result(std::FILE* stream, const StudyPlan& plan, const StudySummary& summary);

// The runs that failed, a line each for the first ten. Returns how many there are.
int print_failed_runs(std::FILE* stream, const StudyPlan& plan, const StudySummary& summary);

// The results for --json.
Json study_json(const StudyPlan& plan, const StudySummary& summary, const std::string& store);

}  // namespace broadloom::cli
