// What a report's troubles are, and which of its figures show nothing, in sentences.
#pragma once

#include <string>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

std::vector<std::string> trouble_sentences(const StudyReport& report);

}  // namespace broadloom
