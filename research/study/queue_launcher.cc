#include "research/study/queue_launcher.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "broadloom/core/hash.h"
#include "broadloom/core/utc_time.h"
#include "broadloom/record/files.h"
#include "research/study/launch_record.h"
#include "research/study/launch_words.h"
#include "research/study/watched_launch.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

std::string absolute(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

// The name with only characters that every queue takes literally.
std::string plain_name(const std::string& name) {
  std::string plain;
  for (const char c : name.substr(0, 40)) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    plain += is_plain || c == '-' || c == '_' ? c : '_';
  }
  return plain;
}

class QueueLauncher : public Launcher {
 public:
  QueueLauncher(std::string name, std::unique_ptr<JobQueue> queue)
      : name_(std::move(name)), queue_(std::move(queue)) {}

  bool is_remote() const override { return true; }
  Result<StudySummary> run(const StudyPlan& plan, const LaunchOptions& options,
                           const LaunchHooks& hooks) override;
  Result<std::string> describe(const StudyPlan& plan, const LaunchOptions& options,
                               const LaunchHooks& hooks) override;

 private:
  Result<std::vector<Launch>> open_launches(const std::string& store, const StudyPlan& plan) const;
  Result<bool> follow(const StudyPlan& plan, Launch& launch, StudyStore& store,
                      const LaunchHooks& hooks, std::string& lost, int& runs) const;
  JobArray array_of(const LaunchPlan& planned, const Launch& launch,
                    const LaunchOptions& options) const;
  Result<Launch> hand_over(const StudyPlan& plan, const LaunchPlan& planned,
                           const LaunchOptions& options) const;
  Status prepare(const StudyPlan& plan, const LaunchPlan& planned, const LaunchOptions& options,
                 Launch& launch) const;
  Status submit(const LaunchPlan& planned, const LaunchOptions& options, Launch& launch) const;
  Status not_submitted(const Status& refusal, Launch& launch) const;
  Status train_rest(const StudyPlan& plan, const LaunchOptions& options, const LaunchHooks& hooks,
                    StudyStore& store) const;

  std::string name_;
  std::unique_ptr<JobQueue> queue_;
};

void note(const LaunchHooks& hooks, const std::string& sentence) {
  if (hooks.on_note) hooks.on_note(sentence);
}

// Launches by this launcher that are not over.
Result<std::vector<Launch>> QueueLauncher::open_launches(const std::string& store,
                                                         const StudyPlan& plan) const {
  Result<std::vector<Launch>> launches =
      read_launches(store, static_cast<std::int64_t>(plan.runs.size()));
  if (!launches.ok()) return launches.status();
  std::erase_if(launches.value(), [](const Launch& launch) { return launch.is_over; });
  for (const Launch& launch : launches.value()) {
    if (launch.launcher == name_) continue;
    return Status(ErrorKind::kMismatch,
                  fmt::format("'{}' was launched with --launcher {}; use that one until it is over",
                              launch.folder, launch.launcher));
  }
  return launches;
}

// Returns whether the launch is over, or false if stopped. lost, runs: the losses of its parts.
Result<bool> QueueLauncher::follow(const StudyPlan& plan, Launch& launch, StudyStore& store,
                                   const LaunchHooks& hooks, std::string& lost, int& runs) const {
  WatchedLaunch watched(plan, launch, *queue_, store, hooks);
  const Result<bool> over = watched.watch();
  if (!over.ok()) return over.status();
  if (!over.value()) {
    note(hooks,
         fmt::format("Job array {} continues. The same command watches it again; `{}` cancels it.",
                     launch.array, queue_->cancel_words(launch.array)));
    return false;
  }
  BROADLOOM_TRY(watched.finish());
  Result<std::string> losses = watched.losses(runs);
  if (!losses.ok()) return losses.status();
  lost = losses.take();
  return true;
}

JobArray QueueLauncher::array_of(const LaunchPlan& planned, const Launch& launch,
                                 const LaunchOptions& options) const {
  JobArray array;
  array.name = launch.name;
  array.parts = static_cast<int>(planned.parts.size());
  array.at_once = options.study.jobs;
  array.limits = planned.limits;
  std::error_code ignored;
  array.folder = fs::current_path(ignored).string();
  array.log = launch.logs();
  array.store = launch.stores();
  array.command = options.command;
  for (const RunPart& part : planned.parts) array.runs.push_back(runs_text(part.runs));
  return array;
}

// Makes the parts' stores now, so that each refuses a job of a changed study or program.
Status QueueLauncher::prepare(const StudyPlan& plan, const LaunchPlan& planned,
                              const LaunchOptions& options, Launch& launch) const {
  for (std::size_t p = 0; p < planned.parts.size(); ++p) {
    StudyPart part;
    part.runs = planned.parts[p].runs;
    const std::string path = with_number(launch.stores(), static_cast<int>(p) + 1);
    BROADLOOM_TRY(StudyStore::open(path, plan, part, options.study.any_revision).status());
    launch.parts.push_back(part.runs);
  }
  const Result<std::string> script = queue_->script(array_of(planned, launch, options));
  if (!script.ok()) return script.status();
  BROADLOOM_TRY(write_file_atomically(launch.script(), script.value()));
  // Recorded before submitting: after a kill in between, the next call finds it by its name.
  return write_launch(launch);
}

Status QueueLauncher::submit(const LaunchPlan& planned, const LaunchOptions& options,
                             Launch& launch) const {
  const JobArray array = array_of(planned, launch, options);
  Result<std::string> number = queue_->submit(array, launch.script());
  if (!number.ok()) return not_submitted(number.status(), launch);
  launch.array = number.take();
  return write_launch(launch);
}

// A submission can fail after its jobs were queued; then they are watched. Without jobs, this
// undoes everything.
Status QueueLauncher::not_submitted(const Status& refusal, Launch& launch) const {
  const Result<std::vector<QueuedJob>> jobs = queue_->unfinished(launch.name);
  if (!jobs.ok()) {
    return {refusal.kind(),
            fmt::format("{}. It is unknown whether the jobs were submitted nevertheless ({}); run "
                        "the same command to look for them",
                        refusal.message(), jobs.status().message())};
  }
  if (!jobs.value().empty()) {
    launch.array = jobs.value().front().array;
    return write_launch(launch);
  }
  std::error_code ignored;
  fs::remove_all(launch.folder, ignored);
  return refusal;
}

Result<Launch> QueueLauncher::hand_over(const StudyPlan& plan, const LaunchPlan& planned,
                                        const LaunchOptions& options) const {
  const std::string store = absolute(options.study.store);
  Result<std::string> folder = make_launch_folder(store);
  if (!folder.ok()) return folder.status();
  Launch launch;
  launch.folder = folder.take();
  launch.launcher = name_;
  launch.created = utc_now();
  const std::string id = fmt::format("{} {} {}", launch.folder, launch.created, ::getpid());
  launch.name = fmt::format("broadloom-{}-{}", plain_name(plan.name), hash_text(id).substr(0, 12));
  Status status = prepare(plan, planned, options, launch);
  if (!status.ok()) {
    std::error_code ignored;
    fs::remove_all(launch.folder, ignored);
    return status;
  }
  status = submit(planned, options, launch);
  return status.ok() ? Result<Launch>(launch) : Result<Launch>(status);
}

Status QueueLauncher::train_rest(const StudyPlan& plan, const LaunchOptions& options,
                                 const LaunchHooks& hooks, StudyStore& store) const {
  const Result<std::vector<StoredRun>> runs = store.runs();
  if (!runs.ok()) return runs.status();
  const bool is_done = std::none_of(runs.value().begin(), runs.value().end(),
                                    [](const StoredRun& run) { return run.status == "pending"; });
  if (is_done) return {};
  const Result<LaunchPlan> planned = plan_launch(plan, runs.value(), options, *queue_, hooks);
  if (hooks.study.should_stop && hooks.study.should_stop()) return {};
  if (!planned.ok()) return planned.status();
  note(hooks, launch_words(*queue_, plan, planned.value(), options));
  Result<Launch> launch = hand_over(plan, planned.value(), options);
  if (!launch.ok()) return launch.status();
  note(hooks, fmt::format("Job array {}: '{}'.", launch.value().title(), launch.value().script()));
  std::string lost;
  int left = 0;
  const Result<bool> over = follow(plan, launch.value(), store, hooks, lost, left);
  if (!over.ok()) return over.status();
  if (lost.empty()) return {};
  return {
      ErrorKind::kIo,
      fmt::format("{} {} left, since jobs ended before their runs did: {}. Finished runs are in "
                  "'{}'; run the same command again for the rest",
                  left, left == 1 ? "run is" : "runs are", lost, options.study.store)};
}

Result<StudySummary> QueueLauncher::run(const StudyPlan& plan, const LaunchOptions& options,
                                        const LaunchHooks& hooks) {
  const auto start = std::chrono::steady_clock::now();
  BROADLOOM_TRY(check_isa_of_cells(plan));
  BROADLOOM_TRY(queue_->check());
  Result<StudyStore> store =
      StudyStore::open(options.study.store, plan, {}, options.study.any_revision);
  if (!store.ok()) return store.status();
  Result<std::vector<Launch>> before = open_launches(absolute(options.study.store), plan);
  if (!before.ok()) return before.status();
  bool stopped = false;
  for (Launch& launch : before.value()) {
    note(hooks, fmt::format("Taking in the launch of {} ('{}').", launch.created, launch.folder));
    std::string lost;
    int left = 0;
    const Result<bool> over = follow(plan, launch, store.value(), hooks, lost, left);
    if (!over.ok()) return over.status();
    stopped = stopped || !over.value();
    if (stopped) break;
    if (!lost.empty()) note(hooks, fmt::format("{} of its runs are left: {}.", left, lost));
  }
  if (!stopped) {
    if (options.study.retry_failed) {
      BROADLOOM_TRY(store.value().forget_failed(options.study.any_revision));
    }
    BROADLOOM_TRY(train_rest(plan, options, hooks, store.value()));
  }
  StudySummary summary;
  Result<std::vector<StoredRun>> runs = store.value().runs();
  if (!runs.ok()) return runs.status();
  summary.runs = runs.take();
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

Result<std::string> QueueLauncher::describe(const StudyPlan& plan, const LaunchOptions& options,
                                            const LaunchHooks& hooks) {
  BROADLOOM_TRY(check_isa_of_cells(plan));
  BROADLOOM_TRY(queue_->check());
  const std::string path = absolute(options.study.store);
  const Result<std::vector<Launch>> before = open_launches(path, plan);
  if (!before.ok()) return before.status();
  std::vector<StoredRun> stored;
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    Result<StudyStore> store = StudyStore::open_to_read(path, plan);
    if (!store.ok()) return store.status();
    Result<std::vector<StoredRun>> runs = store.value().runs();
    if (!runs.ok()) return runs.status();
    stored = runs.take();
  }
  const Result<LaunchPlan> planned = plan_launch(plan, stored, options, *queue_, hooks);
  if (!planned.ok()) return planned.status();
  std::string text;
  for (const Launch& launch : before.value()) {
    text += fmt::format("First, it would take in the launch of {} ('{}').\n", launch.created,
                        launch.folder);
  }
  if (planned.value().parts.empty()) return text + "No run is left to launch.\n";
  Launch launch;
  launch.folder = launches_folder(path) + "/launch-N";
  launch.name = fmt::format("broadloom-{}-ID", plain_name(plan.name));
  text += launch_words(*queue_, plan, planned.value(), options) + "\n\n";
  const Result<std::string> script = queue_->script(array_of(planned.value(), launch, options));
  return script.ok() ? Result<std::string>(text + script.value()) : script;
}

}  // namespace

std::unique_ptr<Launcher> make_queue_launcher(const std::string& name,
                                              std::unique_ptr<JobQueue> queue) {
  return std::make_unique<QueueLauncher>(name, std::move(queue));
}

}  // namespace broadloom
