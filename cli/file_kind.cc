#include "cli/file_kind.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string_view>

#include "broadloom/config/config.h"
#include "broadloom/core/escape.h"
#include "broadloom/core/toml_tree.h"
#include "broadloom/evaluate/panel.h"

namespace broadloom::cli {
namespace {

// The name of a kind in messages, and a command that takes it, with {} for the file.
struct KindWords {
  FileKind kind;
  const char* name;
  const char* call;
};
constexpr KindWords kWords[] = {{FileKind::kConfig, "a config of one run", "broadloom train {}"},
                                {FileKind::kStudy, "a study", "broadloom study {}"},
                                {FileKind::kPanel, "a panel", "broadloom eval RUN --panel {}"},
                                {FileKind::kStore, "the store of a study", "broadloom report {}"},
                                {FileKind::kLedger, "a ledger", "broadloom rerun {}"},
                                {FileKind::kCheckpoint, "a checkpoint", "broadloom eval {}"}};

const KindWords* words_of(FileKind kind) {
  for (const KindWords& words : kWords) {
    if (words.kind == kind) return &words;
  }
  return nullptr;
}

std::string beginning_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(64, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return bytes;
}

FileKind kind_of_table(const TomlNode& root) {
  const auto has_one_of = [&](std::initializer_list<const char*> keys) {
    return std::any_of(keys.begin(), keys.end(),
                       [&](const char* key) { return root.find(key) != nullptr; });
  };
  if (has_one_of({"base", "grid", "shapes", "variants", "match"})) return FileKind::kStudy;
  std::vector<std::string> keys = field_names<Config>();
  std::erase(keys, "seed");
  for (const std::string& shared : field_names<Panel>()) std::erase(keys, shared);
  const bool is_config = std::any_of(root.all.begin(), root.all.end(), [&](const TomlNode& node) {
    return std::find(keys.begin(), keys.end(), node.key) != keys.end();
  });
  if (is_config) return FileKind::kConfig;
  if (root.find("env_id") == nullptr) {
    return root.find("seeds") != nullptr ? FileKind::kStudy : FileKind::kUnknown;
  }
  // Without these it may be either.
  return has_one_of({"perturbations", "episodes", "seeds"}) ? FileKind::kPanel : FileKind::kUnknown;
}

}  // namespace

FileKind kind_of_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return FileKind::kUnknown;
  const std::string bytes = beginning_of(path);
  if (bytes.starts_with("SQLite format 3")) return FileKind::kStore;
  if (bytes.starts_with("{\"format\":")) return FileKind::kLedger;
  // A safetensors file: eight bytes of length, then a JSON header.
  if (bytes.size() > 8 && bytes[8] == '{' && bytes.find('\0') < 8) return FileKind::kCheckpoint;
  const Result<TomlNode> root = read_toml(path, "file");
  return root.ok() ? kind_of_table(root.value()) : FileKind::kUnknown;
}

Status explain_kind(const Status& status, const std::string& path, FileKind wanted) {
  if (status.ok()) return status;
  const FileKind kind = kind_of_file(path);
  const KindWords *is = words_of(kind), *expected = words_of(wanted);
  if (is == nullptr || expected == nullptr || is == expected) return status;
  const std::string call = fmt::format(fmt::runtime(is->call), shell_word(path));
  return invalid(fmt::format("'{}' is {}, expected {}; use it with `{}`", path, is->name,
                             expected->name, call));
}

bool is_beside_runs(const std::string& path) {
  const std::filesystem::path name = std::filesystem::path(path).filename();
  return name == "ledger.jsonl" || name == "learning_curve.svg";
}

}  // namespace broadloom::cli
