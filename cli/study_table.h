// The tables of `broadloom study`.
#pragma once

#include <cstdio>

#include <string>

#include "broadloom/record/json.h"
#include "research/study/plan.h"
#include "research/study/runner.h"

namespace broadloom::cli {

// Prints each cell's steps and minibatches before training. whole: all cells; otherwise at most two
// dozen, and the number of the others.
void print_study_plan(std::FILE* stream, const StudyPlan& plan, const StudyPart& part, bool whole);

// Prints each cell's mean and interquartile mean, with 95 % intervals (bootstrap over runs).
void print_study_result(std::FILE* stream, const StudyPlan& plan, const StudySummary& summary);

// Prints failed runs, a line each for the first ten. Returns the number of failed runs.
int print_failed_runs(std::FILE* stream, const StudyPlan& plan, const StudySummary& summary);

// The whole plan for --plan --json. launch: what a launcher would submit, in words.
Json study_plan_json(const StudyPlan& plan, const StudyPart& part, const std::string& store,
                     const std::string& launch);

// The results for --json.
Json study_json(const StudyPlan& plan, const StudySummary& summary, const StudyOptions& options);

}  // namespace broadloom::cli
