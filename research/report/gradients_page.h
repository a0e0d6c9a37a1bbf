// gradients.html: the gradient laboratory's result as a page to look at.
#pragma once

#include <string>

#include "broadloom/core/status.h"

namespace broadloom {

// The page of a gradients.json text (docs/formats/gradients.md). It holds the JSON, all scripts and
// all styles, and loads nothing: it opens from disk, without a network. kCorrupt where the text is
// not a JSON object, kMismatch where it is of another format.
Result<std::string> gradients_page(const std::string& json);

}  // namespace broadloom
