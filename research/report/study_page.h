// study.html: the page of a study's result.
#pragma once

#include <string>

#include "broadloom/core/status.h"

namespace broadloom {

// The page for a study.json text (docs/formats/study_report.md). The JSON, scripts and styles are
// inside, so it opens from disk without a network. kCorrupt if the text is not a JSON object,
// kMismatch if it has another format or kind.
Result<std::string> study_page(const std::string& json);

}  // namespace broadloom
