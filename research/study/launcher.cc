#include "research/study/launcher.h"

#include <fmt/core.h>

#include "broadloom/core/config_table.h"
#include "research/study/launch_record.h"
#include "research/study/queue_launcher.h"
#include "research/study/slurm.h"

namespace broadloom {
namespace {

// Runs that jobs may be training must not be trained twice.
Status check_no_launch(const std::string& store, const StudyPlan& plan) {
  const Result<std::vector<Launch>> launches =
      read_launches(store, static_cast<std::int64_t>(plan.runs.size()));
  if (!launches.ok()) return launches.status();
  for (const Launch& launch : launches.value()) {
    if (launch.is_over) continue;
    return {ErrorKind::kIo,
            fmt::format("jobs of this study were launched ('{}') and their results are not in '{}' "
                        "yet: use --launcher {}, which waits for them and takes their results in, "
                        "or name another file with --out",
                        launch.folder, store, launch.launcher)};
  }
  return {};
}

class LocalLauncher : public Launcher {
 public:
  Result<StudySummary> run(const StudyPlan& plan, const LaunchOptions& options,
                           const LaunchHooks& hooks) override {
    BROADLOOM_TRY(check_no_launch(options.study.store, plan));
    return run_study(plan, options.study, hooks.study);
  }
  Result<std::string> describe(const StudyPlan&, const LaunchOptions&,
                               const LaunchHooks&) override {
    return std::string();
  }
};

// One line for each launcher.
struct Entry {
  const char* name;
  std::unique_ptr<Launcher> (*make)();
};
constexpr Entry kLaunchers[] = {
    {"local", [] { return std::unique_ptr<Launcher>(std::make_unique<LocalLauncher>()); }},
    {"slurm", [] { return make_queue_launcher("slurm", make_slurm_queue()); }},
};

}  // namespace

Result<std::unique_ptr<Launcher>> make_launcher(const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& entry : kLaunchers) {
    if (name == entry.name) return entry.make();
    names.emplace_back(entry.name);
  }
  return unknown_key_error("launcher", name, names);
}

}  // namespace broadloom
