// Calls of simulators, whose faults become errors that name them. All code that steps environments
// calls them this way.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// A simulator's function threw an exception. The message names both; text: the exception's message,
// may be empty.
class SimulatorError : public std::runtime_error {
 public:
  SimulatorError(const std::string& id, const char* function, const char* expected,
                 const char* text);
};

// Runs `run`, which calls a simulator's function and may return anything. Its exceptions become
// SimulatorErrors, in any thread. Lack of memory stays as it is, since the program has its own
// advice for it.
template <class Run>
auto name_exceptions(const std::string& id, const char* function, const Run& run) {
  constexpr const char* kExpected =
      std::is_same_v<std::invoke_result_t<Run>, Status> ? "a Status" : "none";
  try {
    return run();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const SimulatorError&) {  // of a simulator inside this one
    throw;
  } catch (const std::exception& thrown) {
    throw SimulatorError(id, function, kExpected, thrown.what());
  } catch (...) {
    throw SimulatorError(id, function, kExpected, "");
  }
}

// Runs `run`, which returns a Status, a Result or nothing, and turns SimulatorErrors into kIo.
// Functions of the library that call simulators and return errors begin with it.
template <class Run>
auto with_simulator_errors(const Run& run) {
  using Returned = std::invoke_result_t<Run>;
  using Answer = std::conditional_t<std::is_void_v<Returned>, Status, Returned>;
  try {
    if constexpr (std::is_void_v<Returned>) {
      run();
      return Answer();
    } else {
      return Answer(run());
    }
  } catch (const SimulatorError& error) {
    return Answer(Status(ErrorKind::kIo, error.what()));
  }
}

// The status of a simulator's function, with a message even if the simulator gave none.
Status with_message(Status status, const std::string& id, const char* function);

// Runs `run`, which calls a simulator's function and returns its Status. Exceptions become errors.
template <class Run>
Status call_simulator(const std::string& id, const char* function, const Run& run) {
  return with_simulator_errors(
      [&] { return with_message(name_exceptions(id, function, run), id, function); });
}

// The error of step() that set both flags of an end.
Status ended_in_both_ways(const std::string& id, int env);

// Calls envs.observe(), and envs.observe_critic() if critic_rows are not null. Throws a
// SimulatorError if they throw.
void observe_simulator(const VecEnv& envs, int begin, int end, ObservationRows rows,
                       ObservationRows critic_rows = nullptr);

// The list of envs.append_state(). Throws a SimulatorError if that throws.
std::vector<TensorRef> state_of_simulator(VecEnv& envs, const std::string& prefix);

// Calls envs.step(), and checks the ends that it returns. kIo: an end of both kinds, or one without
// a valid reason, stratum or success, which would count as another outcome.
Status step_simulator(VecEnv& envs, int begin, int end, const StepRows& rows);

// kInvalidConfig: spec() promises numbers whose capability is missing. They would be recorded as 0.
Status check_promises(const VecEnv& envs);

// With traits().saves_state: kInvalidConfig if a run could not resume from what append_state()
// lists. It lists nothing, the same name twice, or a view that is not [N, ...] or has no data.
Status check_state(VecEnv& envs);

}  // namespace broadloom
