// Options of the gradient laboratory, completed and checked against a policy.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/instruments/gradient/factors.h"
#include "research/lab/gradient_study.h"

namespace broadloom {

// Fills in open options and checks the rest. Studies that this policy does not allow are left out
// with a sentence in notes, or refused if nothing else was asked for.
Status complete(const Policy& policy, GradientStudyOptions& options,
                std::vector<std::string>& notes);

// The word of --loss and of gradients.json; kOwn counts as policy.
std::string loss_name(MeasuredLoss loss);
// The number whose gradient is a sample's score.
Score score_of(MeasuredLoss loss);

// Sentences on the requested estimators that a reader must know.
std::vector<std::string> notes_of(const Config& config, const GradientStudyOptions& options);

}  // namespace broadloom
