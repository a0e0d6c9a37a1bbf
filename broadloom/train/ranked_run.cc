#include "broadloom/train/ranked_run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/manifest.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/started_run.h"

namespace broadloom {
namespace {

// Keys and texts, each with a terminating zero.
std::string packed(const Overrides& overrides) {
  std::string out;
  for (const auto& [key, text] : overrides) (out += key + '\0') += text + '\0';
  return out;
}

Overrides unpacked(std::string_view packed) {
  const auto next = [&] {
    const std::size_t end = packed.find('\0');
    std::string part(packed.substr(0, end));
    packed.remove_prefix(end + 1);
    return part;
  };
  Overrides out;
  while (!packed.empty()) {
    std::string key = next();
    out.emplace_back(std::move(key), next());
  }
  return out;
}

// An instruction set without common bits must be the same on all ranks.
Status check_same_isa(Ranks& ranks) {
  std::array<char, 16> mine{};
  const std::string isa = has_common_bits(active_isa()) ? "common" : active_isa();
  isa.copy(mine.data(), mine.size() - 1);
  const std::vector<std::array<char, 16>> all = ranks.all_of(mine);
  BROADLOOM_TRY(ranks.status());
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    return {
        ErrorKind::kMismatch,
        fmt::format("rank {} of {} has the bits of '{}', expected the bits of '{}' as on rank 0; "
                    "use equal processors, or isa = exact",
                    r, ranks.size(), all[r].data(), all[0].data())};
  }
  return {};
}

std::string c_library() {
#ifdef _CS_GNU_LIBC_VERSION
  std::array<char, 64> text{};
  if (::confstr(_CS_GNU_LIBC_VERSION, text.data(), text.size()) > 0) return text.data();
#endif
  return "unknown";
}

// Text of everything that may change bits: what steps the environments, and the processor or the
// GPU if it changes their bits.
std::string simulator_text(const Trainer& trainer) {
  const EnvSpec& spec = trainer.spec();
  std::string text = spec.engine.empty() ? "Broadloom" : spec.engine;
  if (!spec.plugin.name.empty()) {
    text += fmt::format(", plug-in {} {} ({})", spec.plugin.name, spec.plugin.version,
                        spec.plugin.hash);
  }
  const std::string isa = active_isa();
  if (trainer.device() != nullptr && trainer.config().precision == "tf32") {
    text += ", on " + trainer.device()->name();
  }
  const std::string bits = bits_of(trainer.config(), isa, trainer.simulator());
  if (bits == "common") return text;
  const std::string cpu = make_manifest({}, 0, 1, isa).cpu;
  return fmt::format("{}, bits: {}, on {} with {}", text, bits, cpu, c_library());
}

Status check_same_bits(Ranks& ranks, const Trainer& trainer) {
  BROADLOOM_TRY(check_same_isa(ranks));
  return check_same_words(ranks, simulator_text(trainer));
}

}  // namespace

Status check_same_words(Ranks& ranks, const std::string& mine) {
  const std::string first = ranks.of_first(mine);
  BROADLOOM_TRY(ranks.status());
  if (first == mine) return ranks.agree({});
  return ranks.agree(
      {ErrorKind::kMismatch,
       fmt::format("rank {} of {} has other environments than rank 0: got '{}', expected '{}'. "
                   "Install the same on every machine; nothing was trained",
                   ranks.rank(), ranks.size(), mine, first)});
}

Status check_same_program(Ranks& ranks) {
  if (ranks.size() == 1) return {};
  std::array<char, 64> mine{};
  program_hash().copy(mine.data(), mine.size() - 1);
  const std::vector<std::array<char, 64>> all = ranks.all_of(mine);
  BROADLOOM_TRY(ranks.status());
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    return {ErrorKind::kMismatch,
            fmt::format("rank {} of {} runs another program than rank 0: the hash of its file is "
                        "'{}', expected '{}'. Put the same file on every machine; nothing was "
                        "trained",
                        r, ranks.size(), all[r].data(), all[0].data())};
  }
  return {};
}

Result<std::optional<RankedRun>> join_run(Ranks& ranks) {
  BROADLOOM_TRY(ranks.agree({}));
  const std::string isa = ranks.of_first({});
  const std::string config = ranks.of_first({});
  const std::string teacher_path = ranks.of_first({});
  std::string teacher_bytes = ranks.of_first({});
  BROADLOOM_TRY(ranks.status());
  if (config.empty()) return std::optional<RankedRun>();
  const Overrides settings = unpacked(config);
  allow_settings(settings);  // the first rank has checked them
  Result<Config> resolved = resolve_record(settings);
  if (!resolved.ok()) return ranks.agree(resolved.status());
  RankedRun run{resolved.take(), isa};
  if (!teacher_bytes.empty()) {
    Result<TeacherFile> teacher = TeacherFile::parse(std::move(teacher_bytes), teacher_path);
    if (!teacher.ok()) return ranks.agree(teacher.status());
    run.teacher = teacher.take();
  }
  return std::optional<RankedRun>(std::move(run));
}

Status follow_run(const RankedRun& run, int threads, Ranks& ranks,
                  const std::function<bool()>& should_stop) {
  Result<std::unique_ptr<Trainer>> trainer =
      Trainer::create(run.config, threads, ranks, StartFrom::kState, run.teacher);
  BROADLOOM_TRY(ranks.agree(trainer.status()));
  BROADLOOM_TRY(check_same_bits(ranks, *trainer.value()));
  BROADLOOM_TRY(trainer.value()->copy_first_rank_state());
  BROADLOOM_TRY(ranks.agree({}));  // the first rank has opened its logs
  BROADLOOM_TRY(iterate_together(*trainer.value(), {}, should_stop));
  return ranks.agree({});  // the first rank has saved and written its record
}

Status call_ranks(const Status& ready, Trainer* trainer, Ranks& ranks,
                  const std::optional<TeacherFile>& teacher) {
  if (ranks.size() == 1) return ready;
  BROADLOOM_TRY(ranks.agree(ready));
  const std::string isa = active_isa();
  const bool has_run = trainer != nullptr;
  ranks.of_first(!has_run || has_common_bits(isa) ? "auto" : isa);
  ranks.of_first(has_run ? packed(to_overrides(trainer->config())) : "");
  ranks.of_first(teacher ? teacher->path : "");
  ranks.of_first(teacher ? *teacher->bytes : "");
  BROADLOOM_TRY(ranks.status());
  if (!has_run) return {};
  BROADLOOM_TRY(ranks.agree({}));  // the other ranks have made their trainers
  BROADLOOM_TRY(check_same_bits(ranks, *trainer));
  return trainer->copy_first_rank_state();
}

Status iterate_together(Trainer& trainer, const std::function<void()>& after_iteration,
                        const std::function<bool()>& should_stop) {
  while (!trainer.finished()) {
    BROADLOOM_TRY(trainer.iterate());
    if (after_iteration) after_iteration();
    // Evaluations, which may end the run, are the first rank's.
    const bool stops = trainer.finished() || (should_stop && should_stop());
    if (trainer.ranks().any(stops)) break;
  }
  return trainer.gather_environments();
}

}  // namespace broadloom
