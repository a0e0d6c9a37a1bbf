// Writes a GradientStudyReport as JSON: docs/formats/gradients.md.
#pragma once

#include <string>

#include "broadloom/record/json.h"
#include "research/lab/gradient_report.h"

namespace broadloom {

// The keys of a run's network (Role::kNetwork), with values of their types.
Json network_json(const Config& config);

// created: UTC, ISO 8601. version, revision: of the program.
std::string gradients_json(const GradientStudyReport& report, const std::string& created,
                           const std::string& version, const std::string& revision);

}  // namespace broadloom
