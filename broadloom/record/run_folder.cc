#include "broadloom/record/run_folder.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <system_error>
#include <vector>

#include "broadloom/core/escape.h"
#include "broadloom/record/files.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCheckpoints = "/checkpoints";
constexpr std::string_view kCheckpointStart = "iteration_";
constexpr std::size_t kCheckpointDigits = 10;
constexpr std::string_view kCheckpointEnding = ".safetensors";
constexpr const char* kHalfWritten = ".tmp-";
constexpr std::string_view kEventsStart = "events.out.tfevents.";

// Whether the run wrote the file. Other files in the folder, such as copies or exports, are neither
// resumed from nor pruned.
bool is_checkpoint_name(std::string_view name) {
  if (!name.starts_with(kCheckpointStart) || !name.ends_with(kCheckpointEnding)) return false;
  name.remove_prefix(kCheckpointStart.size());
  name.remove_suffix(kCheckpointEnding.size());
  return name.size() == kCheckpointDigits &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Paths of whole checkpoints, oldest first: their names sort by iteration.
std::vector<std::string> checkpoints(const std::string& dir) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir + kCheckpoints, error)) {
    if (is_checkpoint_name(entry.path().filename().string())) {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Our own pid means that the system, or a restarted container, has reused it.
bool is_live_other_process(const std::string& pid) {
  const long number = std::strtol(pid.c_str(), nullptr, 10);
  if (number <= 0 || number == ::getpid()) return false;
  return ::kill(static_cast<pid_t>(number), 0) == 0 || errno == EPERM;
}

// The pid at the end of a name such as `manifest.json.tmp-123`; "" for other names.
std::string writer_of(const std::string& name) {
  const std::size_t ending = name.rfind(kHalfWritten);
  if (ending == std::string::npos) return "";
  const std::string pid = name.substr(ending + std::strlen(kHalfWritten));
  return pid.find_first_not_of("0123456789") == std::string::npos ? pid : "";
}

bool is_plain(const fs::directory_entry& entry, fs::file_type type) {
  std::error_code error;
  return entry.symlink_status(error).type() == type;
}

// Whether a run writes a file of this name atomically.
bool is_written_whole(std::string_view name) {
  return name == RunFolder::kManifest || name == RunFolder::kBest || name == RunFolder::kPanel ||
         name == RunFolder::kTeacher || name == RunFolder::kLedgerLine ||
         (name.starts_with("panel-") && name.ends_with(".json")) || is_checkpoint_name(name);
}

// Whether a killed process left the file half-written. A user's own file may have a similar ending.
bool is_half_written(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  const std::string pid = writer_of(name);
  return !pid.empty() && !is_live_other_process(pid) && is_plain(entry, fs::file_type::regular) &&
         is_written_whole(std::string_view(name).substr(0, name.rfind(kHalfWritten)));
}

template <class Predicate>
std::vector<fs::directory_entry> entries(const fs::path& dir, const Predicate& matches) {
  std::error_code error;
  std::vector<fs::directory_entry> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, error)) {
    if (matches(entry)) found.push_back(entry);
  }
  return found;
}

// Whether a hidden folder is one that create() began but did not rename. The name is not enough:
// the folder must hold only files of a new run, and its free lock must name the process in the
// folder's name.
bool is_begun_run(const fs::path& dir, const std::string& pid) {
  const auto is_strange = [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    if (entry.path().parent_path() == dir && "/" + name == kCheckpoints) {
      return !is_plain(entry, fs::file_type::directory);
    }
    const std::string_view whole = std::string_view(name).substr(0, name.rfind(kHalfWritten));
    return !is_plain(entry, fs::file_type::regular) || !(name == "lock" || is_written_whole(whole));
  };
  const fs::path checkpoints = dir.string() + kCheckpoints;
  if (!entries(dir, is_strange).empty() || !entries(checkpoints, is_strange).empty()) return false;
  const std::string lock = (dir / "lock").string();
  std::error_code error;
  std::string holder;
  if (fs::exists(lock, error)) {
    const Result<std::optional<FileLock>> held = FileLock::try_acquire(lock);
    if (!held.ok() || !held.value()) return false;
    holder = read_file(lock).take();
  }
  const auto is_other = [&](const fs::directory_entry& entry) {
    return entry.path() != fs::path(lock) && entry.path() != checkpoints;
  };
  // The process may have been killed before it wrote its lock.
  return holder.starts_with(fmt::format("process {} on ", pid)) ||
         (holder.empty() && entries(dir, is_other).empty() &&
          entries(checkpoints, is_other).empty());
}

// Removes begun runs of killed processes beside a new run.
void remove_begun_runs(const fs::path& dir) {
  std::error_code error;
  for (const fs::directory_entry& entry : entries(dir, [](const fs::directory_entry& e) {
         const std::string name = e.path().filename().string();
         const std::string pid = writer_of(name);
         return name.starts_with('.') && !pid.empty() && !is_live_other_process(pid) &&
                is_plain(e, fs::file_type::directory) && is_begun_run(e.path(), pid);
       })) {
    fs::remove_all(entry.path(), error);
  }
}

void remove_half_written(const fs::path& dir) {
  std::error_code error;
  for (const fs::directory_entry& entry : entries(dir, is_half_written)) {
    fs::remove(entry.path(), error);
  }
}

std::string host_name() {
  char host[256] = "host";
  ::gethostname(host, sizeof host - 1);
  return host;
}

std::string without_trailing_slash(std::string dir) {
  while (dir.size() > 1 && dir.back() == '/') dir.pop_back();
  return dir;
}

// Other folders may have a manifest.json; a run also has checkpoints.
bool has_run(const fs::path& dir) {
  std::error_code error;
  return fs::exists(dir / "manifest.json", error) &&
         fs::is_directory(dir.string() + kCheckpoints, error);
}

// Refuses a parent that is a file, or a run, which owns everything in its folder.
Status check_parents(const std::string& dir) {
  std::error_code error;
  // weakly_canonical() alone gives no parents for a missing relative path.
  fs::path inner = fs::weakly_canonical(fs::absolute(dir, error), error);
  for (fs::path outer = inner.parent_path(); outer != inner; outer = inner.parent_path()) {
    if (fs::exists(outer, error) && !fs::is_directory(outer, error)) {
      return {ErrorKind::kIo,
              fmt::format("cannot make the folder '{}': '{}' is a file; choose another with --out",
                          dir, outer.string())};
    }
    if (has_run(outer)) {
      return {ErrorKind::kIo,
              fmt::format(
                  "the folder '{}' would be inside the run '{}', whose folder may hold only that "
                  "run; choose a folder outside with --out",
                  dir, outer.string())};
    }
    inner = outer;
  }
  return {};
}

Status taken_error(const std::string& dir) {
  return {
      ErrorKind::kIo,
      fmt::format("the folder '{}' exists and is not empty; choose another with --out, or resume "
                  "the run in it: `broadloom train --resume {}`",
                  dir, shell_word(dir))};
}

}  // namespace

Status RunFolder::check_free(const std::string& dir) {
  std::error_code error;
  const std::string plain = without_trailing_slash(dir);
  if (fs::exists(plain, error) && !fs::is_directory(plain, error)) {
    return {
        ErrorKind::kIo,
        fmt::format("'{}' is a file, expected a folder; choose another name with --out, or remove "
                    "the file",
                    plain)};
  }
  if (fs::exists(plain, error) && !fs::is_empty(plain, error)) return taken_error(plain);
  return check_parents(plain);
}

bool RunFolder::is_among_checkpoints(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(fs::absolute(path, error), error).parent_path();
  const fs::path run = folder.parent_path();
  return has_run(run) && fs::equivalent(folder, run.string() + kCheckpoints, error);
}

Status RunFolder::create(const std::string& wanted,
                         const std::function<Status(const RunFolder&)>& fill) {
  BROADLOOM_TRY(check_free(wanted));
  // Threads share a pid, so each would take another's begun folder for an abandoned one.
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> alone(one_at_a_time);
  const fs::path dir = without_trailing_slash(wanted);
  BROADLOOM_TRY(make_folders(dir.parent_path().string()));
  remove_begun_runs(dir.has_parent_path() ? dir.parent_path() : fs::path("."));
  const fs::path hidden =
      dir.parent_path() / fmt::format(".{}{}{}", dir.filename().string(), kHalfWritten, ::getpid());
  // An existing folder is somebody else's.
  for (const std::string& folder : {hidden.string(), hidden.string() + kCheckpoints}) {
    if (::mkdir(folder.c_str(), 0777) == 0) continue;
    if (errno != EEXIST) return io_error("create the folder", folder);
    return {ErrorKind::kIo,
            fmt::format("the folder '{}' exists, and is not an abandoned run: remove it, or choose "
                        "another with --out",
                        folder)};
  }
  std::error_code error;
  Status status = fill(RunFolder(hidden.string()));
  if (status.ok() && ::rename(hidden.c_str(), dir.c_str()) != 0) {
    // Another process made it in the meantime.
    const bool taken = errno == ENOTEMPTY || errno == EEXIST;
    status = taken ? taken_error(dir.string()) : io_error("create the folder", dir.string());
  }
  if (!status.ok()) {
    fs::remove_all(hidden, error);
    return status;
  }
  status = sync_folder_of(dir.string());
  if (!status.ok()) fs::remove_all(dir, error);  // so that another try can use the path
  return status;
}

Result<RunFolder> RunFolder::open(const std::string& wanted) {
  RunFolder folder(without_trailing_slash(wanted));
  std::error_code error;
  if (!fs::is_directory(folder.dir_, error)) {
    return Status(ErrorKind::kNotFound,
                  fmt::format("there is no run folder '{}'; `broadloom train` makes one", wanted));
  }
  if (!fs::exists(folder.manifest_path(), error)) {
    return Status(ErrorKind::kNotFound,
                  fmt::format("the folder '{}' is not a run: it has no manifest.json", wanted));
  }
  return folder;
}

bool RunFolder::is_events_name(std::string_view name) {
  return name.starts_with(kEventsStart) && name.find('/') == std::string_view::npos;
}

std::string RunFolder::events_path() const {
  std::error_code error;
  std::string newest;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir_, error)) {
    if (!is_events_name(entry.path().filename().string())) continue;
    newest = std::max(newest, entry.path().string());
  }
  return newest;
}

std::string RunFolder::new_events_path() const {
  const std::string newest = events_path();
  std::string path;
  for (std::time_t now = std::time(nullptr); path <= newest; ++now) {
    path = fmt::format("{}/{}{:010d}.{}.{}.0", dir_, kEventsStart, now, host_name(), ::getpid());
  }
  return path;
}

std::string RunFolder::checkpoint_path(std::int64_t iteration) const {
  return fmt::format("{}{}/{}{:0{}d}{}", dir_, kCheckpoints, kCheckpointStart, iteration,
                     kCheckpointDigits, kCheckpointEnding);
}

// The file names its holder for error messages. Its existence means nothing: a killed process
// leaves it unlocked.
Result<FileLock> RunFolder::lock() const {
  std::error_code error;
  if (fs::is_symlink(dir_ + kCheckpoints, error)) {
    return Status(
        ErrorKind::kCorrupt,
        fmt::format("'{}{}' is a symbolic link, expected a folder: another run's checkpoints "
                    "would be pruned; put a copy of the folder in its place",
                    dir_, kCheckpoints));
  }
  Result<std::optional<FileLock>> lock = FileLock::try_acquire(lock_path());
  if (!lock.ok()) return lock.status();
  if (!lock.value()) {
    const std::string holder = read_file(lock_path()).take();
    return Status(
        ErrorKind::kIo,
        fmt::format("the run '{}' is being trained by {}; wait until it has ended, stop it (Ctrl-C "
                    "saves the run, ready to be resumed), or train another run with --out",
                    dir_, holder.empty() ? "another process" : holder));
  }
  BROADLOOM_TRY(lock.value()->write(fmt::format("process {} on {}", ::getpid(), host_name())));
  return std::move(*lock.value());
}

Result<std::string> RunFolder::latest_checkpoint() const {
  const std::vector<std::string> paths = checkpoints(dir_);
  if (!paths.empty()) return paths.back();
  return Status(ErrorKind::kNotFound,
                fmt::format("the run '{}' has no checkpoint; train it again", dir_));
}

std::string RunFolder::checkpoint_before(const std::string& path) const {
  const std::vector<std::string> paths = checkpoints(dir_);
  const auto found = std::lower_bound(paths.begin(), paths.end(), path);
  return found == paths.begin() ? "" : *std::prev(found);
}

void RunFolder::prune(int keep) const {
  std::error_code error;
  const std::vector<std::string> paths = checkpoints(dir_);
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < paths.size(); ++i) {
    fs::remove(paths[i], error);
  }
}

void RunFolder::clear_half_written() const {
  remove_half_written(dir_);
  remove_half_written(dir_ + kCheckpoints);
}

Result<FoundCheckpoint> find_checkpoint(const std::string& run_or_checkpoint) {
  std::error_code error;
  if (!fs::exists(run_or_checkpoint, error)) {
    return Status(
        ErrorKind::kNotFound,
        fmt::format("there is no run folder '{}', nor a checkpoint file of that name; `broadloom "
                    "train` makes runs",
                    run_or_checkpoint));
  }
  if (!fs::is_directory(run_or_checkpoint, error)) return FoundCheckpoint{{}, run_or_checkpoint};
  Result<RunFolder> folder = RunFolder::open(run_or_checkpoint);
  if (!folder.ok()) return folder.status();
  Result<std::string> path = folder.value().latest_checkpoint();
  if (!path.ok()) return path.status();
  return FoundCheckpoint{folder.take(), path.take()};
}

Result<std::string> find_best_checkpoint(const std::string& run_dir) {
  const Result<RunFolder> folder = RunFolder::open(run_dir);
  if (!folder.ok()) return folder.status();
  std::string path = folder.value().best_path();
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  return Status(ErrorKind::kNotFound,
                fmt::format("the run '{}' has no best.safetensors, which evaluations in training "
                            "leave; train one with eval_interval above 0, or name a checkpoint",
                            run_dir));
}

}  // namespace broadloom
