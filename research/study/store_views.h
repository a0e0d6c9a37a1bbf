// The views of a study's store, for those who read it. docs/formats/study.md describes them.
#pragma once

#include "broadloom/core/status.h"
#include "research/study/sqlite.h"

namespace broadloom {

// Makes the views of a store that has none. To be called after the cells are in: every view says of
// its rows what the axes of this study set. Errors: those of the database.
Status make_views(Database& database);

}  // namespace broadloom
