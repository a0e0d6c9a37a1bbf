#include "cli/ledger.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "broadloom/core/config_table.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_folder.h"

namespace broadloom::cli {
namespace {

namespace fs = std::filesystem;

// "." and ".." do not name the folder around them, so they are resolved first.
fs::path folder_around(const std::string& run_dir) {
  fs::path path = fs::path(run_dir).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // a slash at the end
  const std::string name = path.filename().string();
  if (name == "." || name == "..") {
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(path, error);
    if (!error) path = whole;
  }
  return path.parent_path();
}

constexpr const char* kExpected =
    "expected LEDGER:LINE, as in runs/ledger.jsonl:3, or the folder of a run";

// The line that a finished run left in its folder.
Result<LedgerPlace> line_of_folder(const std::string& dir) {
  std::error_code error;
  const fs::path ledger = fs::path(dir) / "ledger.jsonl";
  if (fs::exists(ledger, error) && !fs::exists(fs::path(dir) / "manifest.json", error)) {
    return Status(ErrorKind::kNotFound,
                  fmt::format("'{}' is a folder of several runs, {}; its ledger is '{}'", dir,
                              kExpected, ledger.string()));
  }
  BROADLOOM_TRY(check_run_folder(dir));
  const Result<RunFolder> folder = RunFolder::open(dir);
  if (!folder.ok()) return folder.status();
  const std::string path = folder.value().ledger_line_path();
  if (fs::exists(path, error)) return LedgerPlace{path, 1, dir};
  const Result<Manifest> manifest = read_manifest(folder.value().manifest_path());
  return Status(
      ErrorKind::kNotFound,
      fmt::format("the run '{0}' has no record (ledger_line.json) yet, since it has not "
                  "finished; `broadloom train --resume {0}` finishes it{1}",
                  folder.value().dir(),
                  manifest.value().rerun_of.empty() ? "" : ". A rerun is added to no ledger"));
}

}  // namespace

std::string ledger_of_run(const std::string& requested, const std::string& run_dir) {
  if (requested == "none") return "";
  return requested.empty() ? (folder_around(run_dir) / "ledger.jsonl").string() : requested;
}

Result<std::string> record_in_ledger(const std::string& ledger, const std::string& run_dir) {
  if (ledger.empty()) return std::string();
  const auto not_recorded = [&](const Status& status) {
    return Status(status.kind(),
                  fmt::format("the run is trained and saved in '{0}', but not recorded: {1}. Solve "
                              "this, then `broadloom train --resume {0} --ledger {2}` records it",
                              run_dir, status.message(), ledger));
  };
  const Result<RunFolder> folder = RunFolder::open(run_dir);
  if (!folder.ok()) return not_recorded(folder.status());
  const Result<Manifest> manifest = read_manifest(folder.value().manifest_path());
  if (!manifest.ok()) return not_recorded(manifest.status());
  if (!manifest.value().rerun_of.empty()) return std::string();
  const Result<std::string> line = read_ledger_line(folder.value().ledger_line_path(), 1);
  if (!line.ok()) return not_recorded(line.status());
  const Status whole = check_ledger_line(line.value());
  if (!whole.ok()) return not_recorded(whole);
  const Result<std::int64_t> number = append_to_ledger(ledger, line.value());
  if (!number.ok()) return not_recorded(number.status());
  return fmt::format("{}:{}", ledger, number.value());
}

Result<LedgerPlace> parse_ledger_place(const std::string& text) {
  std::error_code error;
  if (fs::is_directory(text, error)) return line_of_folder(text);
  if (fs::exists(text, error)) return LedgerPlace{text, 0};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return LedgerPlace{text, 0};
  LedgerPlace place{text.substr(0, colon), 0};
  if (parse_text(std::string_view(text).substr(colon + 1), place.line).ok() && place.line >= 1) {
    return place;
  }
  return Status(ErrorKind::kInvalidConfig,
                fmt::format("got '{}' as the line of a ledger, expected a number from 1, as in "
                            "runs/ledger.jsonl:3",
                            text.substr(colon + 1)));
}

Result<std::string> read_place(const LedgerPlace& place) {
  const auto is_record = [](const Result<std::string>& line) {
    return line.value().starts_with("{\"format\":");
  };
  Result<std::string> line = read_ledger_line(place.path, place.line);
  if (line.ok() && !place.run_dir.empty() && !check_ledger_bytes(line.value()).ok()) {
    return Status(ErrorKind::kCorrupt,
                  fmt::format("'{}', the record of the run, is damaged; `broadloom train --resume "
                              "{}` writes it anew",
                              place.path, place.run_dir));
  }
  if (!line.ok() || is_record(line) || is_record(read_ledger_line(place.path, 1))) return line;
  return Status(ErrorKind::kNotFound,
                fmt::format("'{}' is not a ledger, {}", place.path, kExpected));
}

}  // namespace broadloom::cli
