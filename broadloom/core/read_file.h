// Reads files whole, those that a stranger made too: regular ones of a bounded size.
#pragma once

#include <cstdint>
#include <string>

#include "broadloom/core/status.h"

namespace broadloom {

// No file that Broadloom writes comes near it.
inline constexpr std::int64_t kLargestFile = std::int64_t{1} << 34;

// The whole file's bytes. kNotFound. kIo where it cannot be read, is no regular file (a pipe would
// block, a device may have no end), has more than `largest` bytes, or finds no memory. what: the
// word for it in messages, as "study file"; "": none.
Result<std::string> read_file(const std::string& path, std::int64_t largest = kLargestFile,
                              const std::string& what = "");

// "cannot <what> 'path': <reason of errno>", with advice for a full disk or missing rights.
Status io_error(const std::string& what, const std::string& path);

// A descriptor of a file with data, moved past 0 to 2: what prints to a closed one of these would
// write into the file. -1 as it came, or where there is no other; the first is closed then.
int past_standard_streams(int fd);

// kIo where the open file at a path is no regular one: "'path' is a pipe, expected a file; ...".
Status check_regular(int fd, const std::string& path);
// The same of a path, which may have nothing there: kNotFound.
Status check_regular(const std::string& path);

}  // namespace broadloom
