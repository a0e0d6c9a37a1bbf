#include "training.h"

#include <fmt/core.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/available_cores.h"
#include "broadloom/core/escape.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/math/isa.h"
#include "broadloom/program.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/initial_policy.h"
#include "broadloom/train/run.h"
#include "broadloom/train/teacher_policy.h"
#include "broadloom/train/trainer.h"
#include "cli/console.h"
#include "cli/ledger.h"
#include "cli/program.h"
#include "cli/run_dir.h"
#include "errors.h"
#include "overrides.h"
#include "policy.h"

namespace nb = nanobind;

namespace broadloom::python {
namespace {

// None for NaN.
nb::object number(double value) {
  return std::isnan(value) ? nb::none() : nb::object(nb::float_(value));
}

// The trainer of a callback, null once that has returned.
using LiveTrainer = std::shared_ptr<const Trainer*>;

// (numbers by name, line of eval.jsonl or "", function that copies the live policy).
nb::tuple progress_of(const Progress& progress, const LiveTrainer& live) {
  nb::dict out;
  const auto add = [&](const NumberInfo& info, auto value) {
    const nb::str name(info.name);
    if constexpr (std::is_integral_v<decltype(value)>) {
      out[name] = value;
    } else {
      out[name] = number(value);
    }
  };
  visit_numbers(progress.trainer->report(), add);
  const InstrumentSet& instruments = progress.trainer->instruments();
  if (instruments.measured()) instruments.visit_numbers(add);
  out["iteration"] = progress.iteration;
  out["num_iterations"] = progress.num_iterations;
  out["global_step"] = progress.global_step;
  out["total_timesteps"] = progress.total_timesteps;
  out["steps_per_second"] = progress.steps_per_second;
  out["mean_return"] = number(progress.mean_return);
  out["success_rate"] = number(progress.success_rate);
  out["seconds_left"] = progress.seconds_left;
  out["run_dir"] = progress.run_dir;
  const auto copy = [live] {
    if (*live == nullptr) {
      raise(
          invalid("policy: got it after the callback, when it has changed, expected it within "
                  "on_iteration; keep the Policy that it gives there"));
    }
    return copy_of((*live)->policy());
  };
  return nb::make_tuple(out, progress.evaluation, nb::cpp_function(copy));
}

nb::dict summary_of(const RunSummary& summary, const std::string& record) {
  nb::dict out;
  summary.visit([&](const char* name, const auto& value) {
    if constexpr (std::is_same_v<decltype(value), const double&>) {
      out[name] = number(value);
    } else {
      out[name] = value;
    }
  });
  out["record"] = record;
  return out;
}

// Whether a callback returned False of Python or NumPy. None and numbers, which other functions
// return, do not count.
bool is_false(const nb::object& answer) {
  const std::string type = nb::cast<std::string>(answer.type().attr("__name__"));
  const bool is_truth = type == "bool" || type == "bool_";
  return is_truth && PyObject_IsTrue(answer.ptr()) == 0;
}

// Calls Python's callbacks during a run. A callback that raises, or Ctrl-C, ends the run after the
// iteration, and the run is saved; the exception comes out of the call. A callback that returns
// False ends it likewise, without an exception. Only callbacks take the GIL.
class Callbacks {
 public:
  Callbacks(nb::object contract, nb::object iteration, nb::object note, nb::object end)
      : on_contract_(std::move(contract)),
        on_iteration_(std::move(iteration)),
        on_note_(std::move(note)),
        on_end_(std::move(end)) {}

  RunHooks hooks() {
    RunHooks hooks;
    hooks.on_contract = [this](const RolloutContract& contract) {
      call(on_contract_, [&] { return nb::object(nb::cast(contract_text(contract))); });
    };
    hooks.on_note = [this](const std::string& note) {
      call(on_note_, [&] { return nb::object(nb::cast(note)); });
    };
    hooks.on_iteration = [this](const Progress& progress) {
      const LiveTrainer live = std::make_shared<const Trainer*>(progress.trainer);
      call(on_iteration_, [&] { return nb::object(progress_of(progress, live)); });
      *live = nullptr;
    };
    hooks.should_stop = [this] { return stops(); };
    hooks.on_end = [this](const std::string& run_dir, std::int64_t step) {
      const nb::gil_scoped_acquire gil;
      try {
        on_end_(run_dir, step);
      } catch (nb::python_error& error) {
        keep(error, "a callback");
      }
    };
    return hooks;
  }

 private:
  template <class Argument>
  void call(const nb::object& function, Argument&& argument) {
    if (ends_ || function.is_none()) return;
    const nb::gil_scoped_acquire gil;
    try {
      ends_ = is_false(function(argument()));
    } catch (nb::python_error& error) {
      keep(error, "a callback");
    }
  }

  bool stops() {
    const nb::gil_scoped_acquire gil;
    if (!ends_ && PyErr_CheckSignals() != 0) {
      nb::python_error error;  // the exception of the signal's handler
      keep(error, "a signal");
    }
    return ends_;
  }

  void keep(nb::python_error& error, const char* source) {
    ends_ = true;
    static_cast<void>(keep_exception(error, source));
  }

  nb::object on_contract_, on_iteration_, on_note_, on_end_;
  bool ends_ = false;
};

int threads_of(int threads) {
  if (threads < 0) {
    raise(
        invalid(fmt::format("threads: got {}, expected at least 1, or 0 for all cores", threads)));
  }
  return threads > 0 ? threads : available_cores();
}

// base: the folder in which the call began. Python code may have changed it since.
nb::dict finish(const Result<RunSummary>& summary, const std::string& base,
                const std::string& ledger, KeptException& kept) {
  const auto record = [&]() -> Result<std::string> {
    if (!summary.ok() || !summary.value().finished || ledger.empty()) return std::string();
    const nb::gil_scoped_release unlocked;
    Result<std::string> place = cli::record_in_ledger(
        cli::whole_path(base, ledger), cli::whole_path(base, summary.value().run_dir));
    if (!place.ok() || place.value().empty()) return place;
    return ledger + place.value().substr(place.value().rfind(':'));
  };
  const Result<std::string> place = record();
  kept.raise();
  if (!summary.ok()) raise(summary.status());
  if (!place.ok()) raise(place.status());
  if (!summary.value().panel_failure.empty()) {  // the run is recorded by now
    raise({ErrorKind::kNumeric, "the panel has no scores: " + summary.value().panel_failure});
  }
  return summary_of(summary.value(), place.value());
}

// Restores the process's instruction set after a nested call, such as an evaluation from
// on_iteration. An outermost call leaves its own behind, since another thread may be using it.
class InstructionSet {
 public:
  InstructionSet() : before_(calls_++ > 0 ? active_isa() : "") {}
  ~InstructionSet() {
    --calls_;
    if (before_.empty() || active_isa() == before_) return;
    if (!set_isa(before_).ok()) static_cast<void>(set_isa("auto"));
  }
  InstructionSet(const InstructionSet&) = delete;
  InstructionSet& operator=(const InstructionSet&) = delete;

 private:
  static thread_local int calls_;  // calls in progress in this thread
  std::string before_;             // "" for an outermost call
};
thread_local int InstructionSet::calls_ = 0;

// base: the folder that all paths are relative to. init, panel: "" for none.
nb::dict train(const nb::dict& keys, const std::string& base, const std::string& out, int threads,
               const std::string& requested_ledger, const std::string& init, bool init_optimizer,
               const std::string& panel, nb::object on_contract, nb::object on_iteration,
               nb::object on_note, nb::object on_end) {
  KeptException kept;
  const InstructionSet own;
  const int workers = threads_of(threads);
  Callbacks callbacks(std::move(on_contract), std::move(on_iteration), std::move(on_note),
                      std::move(on_end));
  const Overrides overrides = overrides_from(keys);
  allow_settings(overrides);
  std::string ledger;
  const auto run = [&]() -> Result<RunSummary> {
    const nb::gil_scoped_release unlocked;
    const Result<Config> config = resolve_config(overrides);
    if (!config.ok()) return config.status();
    BROADLOOM_TRY(set_isa(config.value().isa));
    const std::string name = config.value().env_id + "__" + config.value().algorithm + "__" +
                             std::to_string(config.value().seed);
    FoldersToFill folders;
    const Result<std::string> made =
        out.empty() ? cli::default_run_dir(name, folders, base) : Result<std::string>(out);
    if (!made.ok()) return made.status();
    const std::string& run_dir = made.value();
    ledger = cli::ledger_of_run(requested_ledger, run_dir);
    std::optional<InitialPolicy> initial_policy;
    if (init.empty() && init_optimizer) {
      return invalid(
          "init_optimizer: got True without init, expected a run whose "
          "optimiser continues; give init=");
    }
    if (!init.empty()) {
      Result<InitialPolicy> policy =
          read_initial_policy(cli::path_from(base, init), init_optimizer);
      if (!policy.ok()) return policy.status();
      initial_policy = policy.take();
    }
    std::optional<Panel> final_panel;
    if (!panel.empty()) {
      Result<Panel> read = read_panel(cli::path_from(base, panel));
      if (!read.ok()) return read.status();
      final_panel = read.take();
    }
    BROADLOOM_TRY(RunFolder::check_free(cli::path_from(base, run_dir)));  // by that name
    Config named = config.value();
    if (!named.teacher.empty()) named.teacher = cli::path_from(base, named.teacher);
    const Result<std::optional<TeacherFile>> teacher = read_teacher_file(named);
    if (!teacher.ok()) return teacher.status();
    RunHooks hooks = callbacks.hooks();
    hooks.named_dir = run_dir;
    return start_run(config.value(), cli::whole_path(base, run_dir), workers, hooks, final_panel,
                     initial_policy, Ranks::alone(), "", teacher.value());
  };
  const Result<RunSummary> summary = run();
  return finish(summary, base, ledger, kept);
}

// more_timesteps: 0 for none. changed: keys that replace the run's own, such as the device.
nb::dict resume(const std::string& base, const std::string& named, std::int64_t total_timesteps,
                std::int64_t more_timesteps, int threads, const nb::dict& changed,
                const std::string& requested_ledger, nb::object on_contract,
                nb::object on_iteration, nb::object on_note, nb::object on_end) {
  KeptException kept;
  const InstructionSet own;
  const int workers = threads_of(threads);
  Callbacks callbacks(std::move(on_contract), std::move(on_iteration), std::move(on_note),
                      std::move(on_end));
  const Overrides keys = overrides_from(changed);
  const std::string run_dir = cli::whole_path(base, named);
  const auto run = [&]() -> Result<RunSummary> {
    const nb::gil_scoped_release unlocked;
    const Result<std::string> isa = isa_of_run(named);  // refuses it by that name
    if (!isa.ok()) return isa.status();
    BROADLOOM_TRY(set_isa(isa.value()));
    Result<std::int64_t> total = total_timesteps;
    if (more_timesteps != 0 && total_timesteps != 0) {
      return invalid(
          fmt::format("got more_timesteps={} and total_timesteps={}, expected one of them: "
                      "the first adds steps, the second sets the total",
                      more_timesteps, total_timesteps));
    }
    if (more_timesteps != 0) total = total_with_more(named, more_timesteps);
    if (!total.ok()) return total.status();
    RunHooks hooks = callbacks.hooks();
    hooks.named_dir = named;
    return resume_run(run_dir, workers, hooks, total.value(), keys);
  };
  const Result<RunSummary> summary = run();
  return finish(summary, base, cli::ledger_of_run(requested_ledger, named), kept);
}

// Saves and restores Python's signal handlers: the program installs its own.
class SavedSignals {
 public:
  SavedSignals() {
    visit([](int number, struct sigaction& now) { sigaction(number, nullptr, &now); });
  }
  ~SavedSignals() {
    visit([](int number, struct sigaction& now) { sigaction(number, &now, nullptr); });
  }
  SavedSignals(const SavedSignals&) = delete;
  SavedSignals& operator=(const SavedSignals&) = delete;

 private:
  template <class F>
  void visit(F&& f) {
    constexpr std::array kNumbers{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU, SIGXFSZ};
    for (std::size_t i = 0; i < kNumbers.size(); ++i) f(kNumbers[i], actions_[i]);
  }
  struct sigaction actions_[6] = {};
};

// Collects the standard output of C in a text. Python's own output is not affected.
class StandardOutputAsText {
 public:
  StandardOutputAsText() : before_(stdout), stream_(open_memstream(&text_, &size_)) {
    if (stream_ != nullptr) stdout = stream_;
  }
  ~StandardOutputAsText() {
    static_cast<void>(take());
    std::free(text_);
  }
  StandardOutputAsText(const StandardOutputAsText&) = delete;
  StandardOutputAsText& operator=(const StandardOutputAsText&) = delete;

  std::string take() {
    if (stream_ != nullptr) {
      stdout = before_;
      std::fclose(std::exchange(stream_, nullptr));
    }
    return text_ == nullptr ? std::string() : std::string(text_, size_);
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* before_;
  std::FILE* stream_;
};

// Lets one command run at a time: the program has one standard output, one last error and one table
// of signals. The same thread may nest commands, such as an environment that evaluates. Waiting
// releases the GIL, which the running command may need.
class CommandLock {
 public:
  CommandLock() {
    const nb::gil_scoped_release unlocked;
    mutex().lock();
  }
  ~CommandLock() { mutex().unlock(); }
  CommandLock(const CommandLock&) = delete;
  CommandLock& operator=(const CommandLock&) = delete;

 private:
  static std::recursive_mutex& mutex() {
    static auto* const all =
        new std::recursive_mutex;  // outlives objects that Python frees at exit
    return *all;
  }
};

class NoErrorsPrinted {
 public:
  NoErrorsPrinted() { cli::tell_errors(false); }
  ~NoErrorsPrinted() { cli::tell_errors(true); }
  NoErrorsPrinted(const NoErrorsPrinted&) = delete;
  NoErrorsPrinted& operator=(const NoErrorsPrinted&) = delete;
};

int run_words(const std::vector<std::string>& arguments) {
  const InstructionSet own;
  static_cast<void>(cli::take_error());
  const SavedSignals signals;
  std::vector<std::string> words{"broadloom"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const nb::gil_scoped_release unlocked;
  return run_program(static_cast<int>(argv.size()), argv.data());
}

// Returns (exit code, Python exception or None). The program prints to the process's standard
// output and error.
nb::tuple program(const std::vector<std::string>& arguments) {
  const CommandLock lock;
  const KeptException kept(KeptException::Scope::kCommand);
  const int code = run_words(arguments);
  return nb::make_tuple(code, kept.value());
}

// Collects a command's answer: its JSON, apart from standard output, where environments may print;
// or the standard output of a command without JSON.
class AnswerText {
 public:
  explicit AnswerText(const std::vector<std::string>& arguments)
      : before_(cli::print_data_into(cli::has_json(arguments) ? &json_ : nullptr)) {
    if (!cli::has_json(arguments)) output_.emplace();
  }
  ~AnswerText() { cli::print_data_into(before_); }
  AnswerText(const AnswerText&) = delete;
  AnswerText& operator=(const AnswerText&) = delete;

  std::string take() { return output_ ? output_->take() : json_; }

 private:
  std::string json_;
  std::string* before_;  // the text of the outer command
  std::optional<StandardOutputAsText> output_;
};

// (Exit code, answer, error message or "", Python exception or None). The caller raises the error.
nb::tuple answer_of_program(const std::vector<std::string>& arguments) {
  const CommandLock lock;
  const KeptException kept(KeptException::Scope::kCommand);
  AnswerText output(arguments);
  const NoErrorsPrinted quiet;
  const int code = run_words(arguments);
  return nb::make_tuple(code, output.take(), cli::take_error(), kept.value());
}

// (name, type, range in words) of each key of a config, in the order of the reference.
nb::list config_keys() {
  nb::list out;
  for (const FieldInfo& field : list_fields(Config{})) {
    out.append(nb::make_tuple(field.name, field.type, field.range_text));
  }
  return out;
}

}  // namespace

void bind_training(nb::module_& m) {
  m.def("train", &train, nb::arg("keys"), nb::arg("base"), nb::arg("out"), nb::arg("threads"),
        nb::arg("ledger"), nb::arg("init"), nb::arg("init_optimizer"), nb::arg("panel"),
        nb::arg("on_contract").none(), nb::arg("on_iteration").none(), nb::arg("on_note").none(),
        nb::arg("on_end"));
  m.def("resume", &resume, nb::arg("base"), nb::arg("run_dir"), nb::arg("total_timesteps"),
        nb::arg("more_timesteps"), nb::arg("threads"), nb::arg("changed"), nb::arg("ledger"),
        nb::arg("on_contract").none(), nb::arg("on_iteration").none(), nb::arg("on_note").none(),
        nb::arg("on_end"));
  m.def("config_keys", &config_keys);
  m.def("terminal_text", [](const std::string& text) { return terminal_text(text); });
  m.def("allow_plugin", [](const std::string& path) {
    if (const Status status = allow_code(path); !status.ok()) raise(status);
  });
  m.def("program", &program, nb::arg("arguments"));
  m.def("answer_of_program", &answer_of_program, nb::arg("arguments"));
  m.def("has_json", &cli::has_json, nb::arg("arguments"));
}

}  // namespace broadloom::python
