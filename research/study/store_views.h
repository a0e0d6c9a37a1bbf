// The SQL views of a study's store for readers. docs/formats/study.md describes them.
#pragma once

#include "broadloom/core/status.h"
#include "research/study/sqlite.h"

namespace broadloom {

// Makes the views in a store that has none. Call it after the cells are stored: each view has a
// column for each axis of this study. Errors: those of the database.
Status make_views(Database& database);

// Removes them, before cells change.
Status drop_views(Database& database);

}  // namespace broadloom
