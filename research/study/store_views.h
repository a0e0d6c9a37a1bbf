// The views of a study's store, for those who read it. docs/formats/study.md describes them.
#pragma once

#include "broadloom/core/status.h"
#include "research/study/sqlite.h"

namespace broadloom {

// Makes the views as this program has them, those of an older one anew; writes nothing where they
// are there. To be called within a transaction, after the cells are in: every view says of its rows
// what the axes of this study set. Errors: those of the database.
Status renew_views(Database& database);

}  // namespace broadloom
