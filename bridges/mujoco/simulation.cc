#include "bridges/mujoco/simulation.h"

#include <fmt/core.h>

#include <csetjmp>
#include <cstdio>
#include <utility>

namespace broadloom::mujoco {
namespace {

// The jump target for errors of MuJoCo on this thread.
struct Landing {
  std::jmp_buf place;
  char text[1024];
};
thread_local Landing landing;

void on_message(const mjLogMessage* message) {
  if (message->level != mjLOG_ERROR) return;
  std::snprintf(landing.text, sizeof(landing.text), "%s", message->subject);
  std::longjmp(landing.place,
               1);  // NOLINT: after returning, MuJoCo would continue with broken data
}

// A separate function without C++ objects, since a jump skips destructors.
[[gnu::noinline]] bool returns(void (*call)(void*), void* argument) {
  if (setjmp(landing.place) != 0) return false;  // NOLINT: see above
  call(argument);
  return true;
}

// Warnings that invalidate a step. The others concern rendering and nearly singular matrices.
constexpr mjtWarning kBreaks[] = {mjWARN_CONTACTFULL, mjWARN_CNSTRFULL, mjWARN_BADQPOS,
                                  mjWARN_BADQVEL,     mjWARN_BADQACC,   mjWARN_BADCTRL};

std::string named(const Library& library, const mjModel& model, const char* what, mjtObj type,
                  int id) {
  const char* name = library.id2name(&model, type, id);
  return name != nullptr && *name != '\0' ? fmt::format("{} '{}'", what, name)
                                          : fmt::format("{} {}", what, id);
}

int joint_of_position(const mjModel& model, int position) {
  int joint = 0;
  while (joint + 1 < model.njnt && model.jnt_qposadr[joint + 1] <= position) ++joint;
  return joint;
}

std::string words_of(const Library& library, const mjModel& model, mjtWarning warning, int info) {
  const auto bad = [&](const char* what, int joint) {
    return fmt::format("the {} of {} is not finite, or huge", what,
                       named(library, model, "joint", mjOBJ_JOINT, joint));
  };
  switch (warning) {
    case mjWARN_BADQPOS:
      return bad("position", joint_of_position(model, info));
    case mjWARN_BADQVEL:
      return bad("speed", model.dof_jntid[info]);
    case mjWARN_BADQACC:
      return bad("acceleration", model.dof_jntid[info]);
    case mjWARN_BADCTRL:
      return fmt::format("the action of {} is not finite, or huge",
                         named(library, model, "actuator", mjOBJ_ACTUATOR, info));
    default:
      return "there was no room for all contacts; give the model more memory (<size "
             "memory=\"...\"/>)";
  }
}

}  // namespace

bool guarded(const Library& library, void (*call)(void*), void* argument, std::string& error) {
  const mjfLogHandler before = library.set_thread_log_handler(on_message);
  const bool returned = returns(call, argument);
  library.set_thread_log_handler(before);
  if (!returned) error = landing.text;
  return returned;
}

std::unique_ptr<Simulation> Simulation::make(const Library& library, const mjModel& model) {
  mjModel* own = library.copy_model(nullptr, &model);
  if (own == nullptr) return nullptr;
  mjData* data = library.make_data(own);
  if (data == nullptr) {
    library.delete_model(own);
    return nullptr;
  }
  return std::unique_ptr<Simulation>(new Simulation(library, own, data));
}

Simulation::~Simulation() {
  library_.delete_data(data_);
  library_.delete_model(model_);
}

Health Simulation::forward() {
  for (const mjtWarning warning : kBreaks) data_->warning[warning].number = 0;
  const auto call = [](void* self) {
    Simulation& s = *static_cast<Simulation*>(self);
    s.library_.forward(s.model_, s.data_);
  };
  return health(guarded(library_, call, this, error_));
}

Health Simulation::step(int times, bool body_forces) {
  for (const mjtWarning warning : kBreaks) data_->warning[warning].number = 0;
  struct Call {
    Simulation& simulation;
    int times;
    bool body_forces;
  } argument{*this, times, body_forces};
  const auto call = [](void* pointer) {
    const Call& c = *static_cast<const Call*>(pointer);
    Simulation& s = c.simulation;
    // Nobody reads the sensors of the other steps, which are a tenth of a step's time.
    if (!s.reads_each_step_) s.model_->opt.disableflags |= mjDSBL_SENSOR;
    for (int i = 1; i < c.times; ++i) s.library_.step(s.model_, s.data_);
    if (!s.reads_each_step_) s.model_->opt.disableflags &= ~mjDSBL_SENSOR;
    s.library_.step(s.model_, s.data_);
    if (c.body_forces) s.library_.rne_post_constraint(s.model_, s.data_);
  };
  const bool returned = guarded(library_, call, &argument, error_);
  if (!returned && !reads_each_step_) model_->opt.disableflags &= ~mjDSBL_SENSOR;
  return health(returned);
}

Health Simulation::health(bool returned) {
  if (!returned) {
    reset();  // the jump left MuJoCo's stack in use
    return Health::kFailed;
  }
  error_.clear();
  for (const mjtWarning warning : kBreaks) {
    if (data_->warning[warning].number > 0) return Health::kUnstable;
  }
  return Health::kFine;
}

std::size_t Simulation::bytes() const {
  return static_cast<std::size_t>(library_.size_model(model_)) +
         static_cast<std::size_t>(data_->nbuffer) + sizeof(mjData);
}

std::string Simulation::complaint() const {
  if (!error_.empty()) return "MuJoCo's error: " + error_;
  for (const mjtWarning warning : kBreaks) {
    const mjWarningStat& stat = data_->warning[warning];
    if (stat.number > 0) return words_of(library_, *model_, warning, stat.lastinfo);
  }
  return "";
}

SimulationPool::SimulationPool(std::vector<std::unique_ptr<Simulation>> all)
    : all_(std::move(all)) {
  for (const auto& simulation : all_) free_.push_back(simulation.get());
}

Simulation* SimulationPool::take() {
  std::unique_lock lock(mutex_);
  given_back_.wait(lock, [this] { return !free_.empty(); });
  Simulation* simulation = free_.back();
  free_.pop_back();
  return simulation;
}

void SimulationPool::give_back(Simulation* simulation) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(simulation);  // within its capacity, so it does not allocate
  }
  given_back_.notify_one();
}

std::size_t SimulationPool::bytes() const {
  std::size_t sum = 0;
  for (const auto& simulation : all_) sum += simulation->bytes();
  return sum;
}

}  // namespace broadloom::mujoco
