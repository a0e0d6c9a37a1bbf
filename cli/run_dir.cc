#include "cli/run_dir.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

namespace broadloom::cli {

std::string file_name(std::string id) {
  std::replace_if(
      id.begin(), id.end(), [](char c) { return c == '/' || c == ':'; }, '_');
  return id;
}

std::string whole_path(const std::string& base, const std::string& path) {
  return (std::filesystem::path(base) / path).string();
}

std::string path_from(const std::string& base, const std::string& path) {
  std::error_code error;
  return std::filesystem::current_path(error) == base ? path : whole_path(base, path);
}

Result<std::string> default_run_dir(const std::string& name, FoldersToFill& folders,
                                    const std::string& base) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  const std::string first = fmt::format("runs/{}__{}", file_name(name), seconds);
  std::string dir = first;
  for (int i = 2;; ++i) {
    const Result<bool> made = folders.make_new(whole_path(base, dir));
    if (!made.ok()) return made.status();
    if (made.value()) return dir;
    dir = fmt::format("{}-{}", first, i);
  }
}

}  // namespace broadloom::cli
