// Whether the machine gave this process fewer threads than it asked for, where nobody was told.
#pragma once

namespace broadloom {

// Whether any ThreadPool so far had to do with the caller alone (ThreadPool::status()). Pools that
// only help a computation along do not end it for that; the program says so once.
bool any_pool_was_alone();

}  // namespace broadloom
