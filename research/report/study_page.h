// study.html: what a study came to, as a page to look at.
#pragma once

#include <string>

#include "broadloom/core/status.h"

namespace broadloom {

// The page of a study.json text (docs/formats/study_report.md). It holds the JSON, all scripts and
// all styles, and loads nothing: it opens from disk, without a network. kCorrupt where the text is
// not a JSON object, kMismatch where it is of another format or not of a study.
Result<std::string> study_page(const std::string& json);

}  // namespace broadloom
