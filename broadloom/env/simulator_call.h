// Calls of simulators, whose faults become errors that name them. All code that steps environments
// calls them this way.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "broadloom/core/status.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// kIo: a simulator's function threw an exception. text: the exception's message, may be empty.
Status thrown_by_simulator(const std::string& id, const char* function, const char* text);

// The status of a simulator's function, with a message even if the simulator gave none.
Status with_message(Status status, const std::string& id, const char* function);

// Runs `run`, which calls a simulator's function and returns its Status. Exceptions become errors,
// in any thread. Lack of memory stays an exception, since the program has its own advice for it.
template <class Run>
Status call_simulator(const std::string& id, const char* function, const Run& run) {
  try {
    return with_message(run(), id, function);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    return thrown_by_simulator(id, function, thrown.what());
  } catch (...) {
    return thrown_by_simulator(id, function, "");
  }
}

// Calls envs.step(), and checks the ends that it returns. kIo: an end of both kinds, or one without
// a valid reason, stratum or success, which would count as another outcome.
Status step_simulator(VecEnv& envs, int begin, int end, const StepRows& rows);

// kInvalidConfig: spec() promises numbers whose capability is missing. They would be recorded as 0.
Status check_promises(const VecEnv& envs);

// With traits().saves_state: kInvalidConfig if a run could not resume from what append_state()
// lists. It lists nothing, the same name twice, or a view that is not [N, ...] or has no data.
Status check_state(VecEnv& envs);

}  // namespace broadloom
