#include "broadloom/env/simulator_call.h"

#include <fmt/core.h>

#include <set>
#include <vector>

#include "broadloom/env/action_masks.h"
#include "broadloom/env/audit_context.h"
#include "broadloom/env/step_counter.h"

namespace broadloom {
namespace {

// A terminated episode has one of the environment's own reasons, a truncated one the last.
Status check_end(const EnvSpec& spec, const EpisodeEnd& end, bool terminated, int env) {
  const int last = static_cast<int>(spec.end_reasons.size()) - 1;
  const auto wrong = [&](const std::string& got, const std::string& expected) -> Status {
    return {ErrorKind::kIo,
            fmt::format("step() of {} gave {} for the end of environment {}'s episode; expected "
                        "{}, in StepRows::ends",
                        spec.id, got, env, expected)};
  };
  if (terminated ? end.reason < 0 || end.reason >= last : end.reason != last) {
    return wrong(end.reason == -1 ? "no reason" : fmt::format("reason {}", end.reason),
                 !terminated ? fmt::format("{}, the index of time_limit in end_reasons", last)
                 : last > 0 ? fmt::format("an index below its {} end_reasons of terminations", last)
                            : "no termination, since end_reasons has only time_limit");
  }
  const int strata = static_cast<int>(spec.strata.size());
  if (end.stratum < -1 || end.stratum >= strata) {
    return wrong(fmt::format("stratum {}", end.stratum),
                 fmt::format("-1 or an index below its {} strata", strata));
  }
  if (end.success < -1 || end.success > 1) {
    return wrong(fmt::format("success {}", end.success), "1, 0 or -1 (unknown)");
  }
  return {};
}

}  // namespace

SimulatorError::SimulatorError(const std::string& id, const char* function, const char* expected,
                               const char* text)
    : std::runtime_error(fmt::format("{}() of {} threw an exception, expected {}{}{}", function, id,
                                     expected, *text == '\0' ? "" : ": ", text)) {}

Status with_message(Status status, const std::string& id, const char* function) {
  if (status.ok() || !status.message().empty()) return status;
  return {status.kind(), fmt::format("{}() of {} failed without a message", function, id)};
}

Status ended_in_both_ways(const std::string& id, int env) {
  return {ErrorKind::kIo,
          fmt::format("step() of {} terminated and truncated environment {}'s episode at once; "
                      "expected truncated only where the task did not end it",
                      id, env)};
}

void observe_simulator(const VecEnv& envs, int begin, int end, ObservationRows rows,
                       ObservationRows critic_rows) {
  const std::string& id = envs.spec().id;
  name_exceptions(id, "observe", [&] { envs.observe(begin, end, rows); });
  if (!critic_rows) return;
  name_exceptions(id, "observe_critic", [&] { envs.observe_critic(begin, end, critic_rows); });
}

std::vector<TensorRef> state_of_simulator(VecEnv& envs, const std::string& prefix) {
  return name_exceptions(envs.spec().id, "append_state", [&] {
    std::vector<TensorRef> out;
    envs.append_state(prefix, out);
    return out;
  });
}

Status step_simulator(VecEnv& envs, int begin, int end, const StepRows& rows) {
  const EnvSpec& spec = envs.spec();
  BROADLOOM_TRY(call_simulator(spec.id, "step", [&] { return envs.step(begin, end, rows); }));
  for (int k = 0; k < end - begin; ++k) {
    const bool terminated = rows.terminated[k] != 0, truncated = rows.truncated[k] != 0;
    if (terminated && truncated) return ended_in_both_ways(spec.id, begin + k);
    if (rows.ends == nullptr || (!terminated && !truncated)) continue;
    BROADLOOM_TRY(check_end(spec, rows.ends[k], terminated, begin + k));
  }
  return {};
}

Status check_promises(const VecEnv& envs) {
  const EnvSpec& spec = envs.spec();
  struct Promise {
    bool is_made, is_kept;
    const char *what, *capability, *header;
  };
  const Promise promises[] = {{spec.action.masked, capability<ActionMasks>(envs) != nullptr,
                               "action.masked", "ActionMasks", "action_masks.h"},
                              {spec.paid_terms() > 0, capability<StepCounter>(envs) != nullptr,
                               "counts_reward_terms", "StepCounter", "step_counter.h"},
                              {!spec.measures.empty(), capability<StepCounter>(envs) != nullptr,
                               "measures", "StepCounter", "step_counter.h"},
                              {!spec.context.empty(), capability<AuditContext>(envs) != nullptr,
                               "context", "AuditContext", "audit_context.h"}};
  for (const Promise& promise : promises) {
    if (!promise.is_made || promise.is_kept) continue;
    return invalid(fmt::format(
        "the environments of {} lack the capability {}, which {} of their spec() promises; "
        "implement it (env/{}), or unset {}",
        spec.id, promise.capability, promise.what, promise.header, promise.what));
  }
  return {};
}

Status check_state(VecEnv& envs) {
  if (!envs.traits().saves_state) return {};
  const std::vector<TensorRef> state = state_of_simulator(envs, "envs");
  const auto refuse = [&](const std::string& fault) {
    return invalid(fmt::format(
        "append_state() of {} {}, so no run could resume from a checkpoint; correct it, or set "
        "saves_state = false in traits()",
        envs.spec().id, fault));
  };
  if (state.empty()) return refuse("lists nothing");
  std::set<std::string> names;
  for (const TensorRef& tensor : state) {
    if (!tensor.name.starts_with("envs.")) {
      return refuse(fmt::format("lists '{}', expected a name that begins with the prefix and a dot",
                                tensor.name));
    }
    if (!names.insert(tensor.name).second) {
      return refuse(fmt::format("lists '{}' twice, expected different names", tensor.name));
    }
    if (tensor.shape.empty() || tensor.shape.front() != envs.num_envs()) {
      return refuse(fmt::format("lists '{}' with {} rows, expected one for each of {} environments",
                                tensor.name, tensor.shape.empty() ? 0 : tensor.shape.front(),
                                envs.num_envs()));
    }
    if (tensor.data == nullptr && tensor.bytes() > 0) {
      return refuse(fmt::format("lists '{}' with data = null", tensor.name));
    }
  }
  return {};
}

}  // namespace broadloom
