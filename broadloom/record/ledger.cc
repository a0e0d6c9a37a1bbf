#include "broadloom/record/ledger.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "broadloom/core/hash.h"
#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
#include "broadloom/record/json_schema.h"
#include "ledger_schema.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;
constexpr int kLedgerFormat = 1;
constexpr std::string_view kChecksumKey = ",\"checksum\":\"";
constexpr std::size_t kChecksumDigits = 32;
constexpr std::string_view kFirstKey = "{\"format\":";  // the beginning of every line

Status altered(const std::string& what) {
  return {ErrorKind::kCorrupt,
          fmt::format("the line was altered: {}; copy it from the run's folder (ledger_line.json, "
                      "which `broadloom train --resume RUN` repairs), or train the run again",
                      what)};
}

// The part of the line that the checksum covers: everything before it.
Result<std::string_view> checked_part(std::string_view line) {
  const std::size_t tail = kChecksumKey.size() + kChecksumDigits + 2;
  if (line.size() <= tail || line.substr(0, kFirstKey.size()) != kFirstKey ||
      line.substr(line.size() - 2) != "\"}" ||
      line.substr(line.size() - tail, kChecksumKey.size()) != kChecksumKey) {
    return altered("it does not begin with its format and end with its checksum");
  }
  return line.substr(0, line.size() - tail);
}

// The stream's name for each stream number that a part of the record draws from; "": none. A stream
// number has 8 bits.
using StreamNames = std::array<std::string, 256>;

std::size_t stream_number(const Json& purpose) { return purpose.integer<std::uint64_t>() % 256; }

StreamNames stream_names(const Json& part) {
  StreamNames names;
  for (const auto& [name, purpose] : part["streams"].members()) {
    std::string& first = names[stream_number(purpose)];
    if (first.empty()) first = name;
  }
  return names;
}

// Checks that training, evaluation and panel share no stream.
Status check_streams(const Json& line) {
  const Json& seeds = line["seeds"];
  for (const auto& [later, earlier] :
       {std::pair{"evaluation", "training"}, std::pair{"panel", "training"},
        std::pair{"panel", "evaluation"}}) {
    if (!seeds.contains(later)) continue;
    const StreamNames taken = stream_names(seeds[earlier]);
    for (const auto& [name, purpose] : seeds[later]["streams"].members()) {
      const std::size_t number = stream_number(purpose);
      if (taken[number].empty()) continue;
      return {ErrorKind::kMismatch,
              fmt::format("seeds: the {} stream '{}' and the {} stream '{}' are both {}, "
                          "expected different streams; this run was scored on random numbers "
                          "that it had drawn before",
                          later, name, earlier, taken[number], number)};
    }
  }
  return {};
}

// A panel's scores are useless without their streams.
Status check_panel(const Json& line) {
  const bool has_scores = line.contains("panel"), has_streams = line["seeds"].contains("panel");
  const Json& panel = line["panel"];
  const bool failed = panel.contains("failed");
  for (const char* key : {"episodes_hash", "rows"}) {
    if (!has_scores || panel.contains(key) != failed) continue;
    return {ErrorKind::kMismatch,
            fmt::format("panel: got {} {}, expected episodes_hash and rows, or failed alone",
                        failed ? "failed and" : "no", key)};
  }
  if (has_scores == has_streams) return {};
  return {ErrorKind::kMismatch,
          fmt::format("the line has {} but no {}, expected both or neither",
                      has_scores ? "panel" : "seeds.panel", has_scores ? "seeds.panel" : "panel")};
}

Status check_content(std::string_view line) {
  const Json json = Json::parse(line);
  if (!json.is_object()) return altered("it is not a JSON object");
  const Json& format = json["format"];
  if (format.is_integer() && format.real() > kLedgerFormat) {
    return {ErrorKind::kCorrupt,
            fmt::format("the line has format {}, but this program reads format {}; use the program "
                        "that wrote it, or a newer one",
                        format.dump(), kLedgerFormat)};
  }
  const Status fits = check_json(line, assets::kLedgerSchema);
  if (!fits.ok()) return {fits.kind(), "the line does not fit the schema: " + fits.message()};
  BROADLOOM_TRY(check_panel(json));
  return check_streams(json);
}

Status no_ledger(const std::string& path) {
  return {ErrorKind::kMismatch,
          fmt::format("'{}' exists and is not a ledger; name another file with --ledger", path)};
}

Status no_file(const std::string& path) {
  return {ErrorKind::kMismatch,
          fmt::format("'{}' is not a regular file, expected one such as runs/ledger.jsonl; name "
                      "another one with --ledger",
                      path)};
}

// Checks that a missing file and its folders can be made.
Status check_place(const std::string& path) {
  if (!fs::path(path).has_filename()) return no_file(path);
  std::error_code error;
  fs::path folder = fs::absolute(path, error).parent_path();
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  const bool is_folder = fs::is_directory(folder, error);
  if (is_folder && ::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  if (!is_folder) errno = ENOTDIR;
  return io_error("create", path);
}

bool looks_like_ledger(std::string_view bytes) {
  return bytes.empty() || bytes.substr(0, kFirstKey.size()) == kFirstKey;
}

// Number of the line that equals `wanted`, from 1; 0: none.
std::int64_t find_line(std::string_view bytes, std::string_view wanted) {
  std::int64_t number = 0;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    ++number;
    if (bytes.substr(0, end) == wanted) return number;
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
  }
  return 0;
}

std::int64_t count_lines(std::string_view bytes) {
  const auto ends = std::count(bytes.begin(), bytes.end(), '\n');
  return ends + (!bytes.empty() && bytes.back() != '\n' ? 1 : 0);
}

}  // namespace

Result<std::string> seal_ledger_line(std::string record) {
  record.pop_back();  // the closing brace
  const std::string checksum = hash_text(record);
  record += fmt::format("{}{}\"}}", kChecksumKey, checksum);
  BROADLOOM_TRY(check_ledger_line(record));
  return record;
}

Status check_ledger_bytes(std::string_view line) {
  const Result<std::string_view> part = checked_part(line);
  if (!part.ok()) return part.status();
  const std::string checksum = hash_text(part.value());
  const std::string_view noted = line.substr(line.size() - 2 - kChecksumDigits, kChecksumDigits);
  if (checksum == noted) return {};
  return altered(fmt::format("its checksum is {}, but its content has {}", noted, checksum));
}

Status check_ledger_line(std::string_view line) {
  BROADLOOM_TRY(check_ledger_bytes(line));
  return check_content(line);
}

Status check_ledger_file(const std::string& path) {
  if (path.empty()) return {};
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (there.type() == fs::file_type::none) {
    errno = error.value();
    return io_error("open", path);
  }
  if (fs::is_symlink(fs::symlink_status(path, error)) && !fs::exists(there)) return no_file(path);
  if (!fs::exists(there)) return check_place(path);
  if (!fs::is_regular_file(there)) return no_file(path);
  const Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  if (!looks_like_ledger(bytes.value())) return no_ledger(path);
  return ::access(path.c_str(), W_OK) == 0 ? Status() : io_error("write", path);
}

Result<std::int64_t> append_to_ledger(const std::string& path, const std::string& line) {
  BROADLOOM_TRY(check_ledger_file(path));
  BROADLOOM_TRY(make_folders(fs::path(path).parent_path().string()));
  Result<SharedLog> ledger = SharedLog::open(path, Links::kFollow);
  if (!ledger.ok()) return ledger.status();
  const Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  if (!looks_like_ledger(bytes.value())) return no_ledger(path);
  const std::int64_t there = find_line(bytes.value(), line);
  if (there > 0) return there;
  BROADLOOM_TRY(ledger.value().append(line + "\n"));
  return count_lines(bytes.value()) + 1;
}

Result<std::string> read_ledger_line(const std::string& path, std::int64_t number) {
  const Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  std::string_view rest = bytes.value();
  const std::int64_t lines = count_lines(rest);
  if (number < 0 || number > lines || lines == 0) {
    return Status(ErrorKind::kNotFound,
                  fmt::format("'{}' has {} lines, expected {}", path, lines,
                              number == 0 ? "at least one" : fmt::format("a line {}", number)));
  }
  for (std::int64_t i = 1; i < (number == 0 ? lines : number); ++i) {
    rest.remove_prefix(rest.find('\n') + 1);
  }
  return std::string(rest.substr(0, rest.find('\n')));
}

Result<std::int64_t> count_ledger_lines(const std::string& path) {
  const Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  return count_lines(bytes.value());
}

}  // namespace broadloom
