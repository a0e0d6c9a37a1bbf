// Writes a GradientStudyReport as JSON: docs/formats/gradients.md.
#pragma once

#include <string>

#include "research/lab/gradient_report.h"

namespace broadloom {

// created: UTC, ISO 8601. version, revision: of the program.
std::string gradients_json(const GradientStudyReport& report, const std::string& created,
                           const std::string& version, const std::string& revision);

}  // namespace broadloom
