// gradients.html: the page of the gradient laboratory's result.
#pragma once

#include <string>

#include "broadloom/core/status.h"

namespace broadloom {

// The page for a gradients.json text (docs/formats/gradients.md). The JSON, scripts and styles are
// inside, so it opens from disk without a network. kCorrupt if the text is not a JSON object,
// kMismatch if it has another format.
Result<std::string> gradients_page(const std::string& json);

}  // namespace broadloom
