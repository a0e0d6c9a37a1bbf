#include "broadloom/evaluate/run_path.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "broadloom/core/escape.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCheckpointFile = ".safetensors";

bool is_run(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path / "manifest.json", error);
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The run that contains a file or folder, at most two levels up; "": none.
std::string run_around(const std::string& path) {
  fs::path folder = fs::path(without_slash(path)).parent_path();
  if (folder.empty()) folder = ".";
  for (int level = 0; level < 2 && !folder.empty(); ++level) {
    if (is_run(folder)) return folder.string();
    folder = folder.parent_path();
  }
  return "";
}

// The last name in a folder that is_wanted accepts; "": none.
template <class IsWanted>
std::string last_in(const std::string& folder, const IsWanted& is_wanted) {
  std::error_code error;
  std::string last;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (is_wanted(entry.path())) last = std::max(last, entry.path().string());
  }
  return last;
}

std::string first_bytes(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return "";  // a pipe would block
  std::array<char, 16> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return {bytes.data(), static_cast<std::size_t>(file.gcount())};
}

// A damaged checkpoint keeps its extension; one with another name has a header.
bool looks_like_checkpoint(const std::string& path) {
  if (path.ends_with(kCheckpointFile)) return true;
  const std::string bytes = first_bytes(path);
  return bytes.size() > 8 && bytes[8] == '{';
}

// Advice on what to name instead.
std::string advice(const std::string& path) {
  const std::string run = run_around(path);
  if (!run.empty()) return fmt::format("name the run that it belongs to, '{}'", run);
  if (first_bytes(path).starts_with("SQLite format 3")) {
    return fmt::format("it is a study's store, which `broadloom report {}` shows",
                       shell_word(path));
  }
  const std::string inside = last_in(without_slash(path), is_run);
  if (!inside.empty()) return fmt::format("name one of the runs in it, such as '{}'", inside);
  return "`broadloom train --out FOLDER` makes one";
}

Status no_run(const std::string& path, const char* expected) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return {ErrorKind::kNotFound,
            fmt::format("the folder '{}' is not a run: it has no manifest.json; {}", path,
                        advice(path))};
  }
  return {ErrorKind::kNotFound,
          fmt::format("'{}' is a file, expected {}; {}", path, expected, advice(path))};
}

}  // namespace

Status check_run_folder(const std::string& path) {
  std::error_code error;
  if (is_run(path) || !fs::exists(path, error)) return RunFolder::open(path).status();
  return no_run(path, "the folder of a run");
}

Result<FoundCheckpoint> find_policy(const std::string& path) {
  std::error_code error;
  if (is_run(path) || !fs::exists(path, error)) return find_checkpoint(path);
  if (!fs::is_directory(path, error)) {
    if (looks_like_checkpoint(path)) return find_checkpoint(path);
    return no_run(path, "the folder of a run, or a checkpoint (a .safetensors file)");
  }
  const std::string newest = last_in(without_slash(path), [](const fs::path& file) {
    return file.extension() == kCheckpointFile;
  });
  if (newest.empty()) return no_run(path, "");
  const std::string run = run_around(path);
  return Status(
      ErrorKind::kNotFound,
      fmt::format("'{}' is a folder of checkpoints, expected a run or one checkpoint; name one of "
                  "them, such as '{}'{}",
                  path, newest,
                  run.empty() ? "" : fmt::format(", or '{}', the run, for its newest", run)));
}

}  // namespace broadloom
