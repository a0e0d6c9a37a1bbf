// What is asked of the gradient laboratory, completed and checked against a policy.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/policy.h"
#include "research/lab/gradient_study.h"

namespace broadloom {

// Fills in what was left open, and checks the rest. Studies that this policy cannot have are left
// out with a sentence in notes, or refused where nothing else was asked for.
Status complete(const Policy& policy, GradientStudyOptions& options,
                std::vector<std::string>& notes);

// What a reader must know of the estimators that were asked for, in sentences.
std::vector<std::string> notes_of(const Config& config, const GradientStudyOptions& options);

}  // namespace broadloom
