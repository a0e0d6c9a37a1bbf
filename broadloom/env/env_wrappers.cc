#include "broadloom/env/env_wrappers.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace broadloom {
namespace {

bool fits(const ActionScale&, const EnvSpec& spec) { return has_bounded_actions(spec); }
bool fits(const DeclaredMirror&, const EnvSpec& spec) { return can_be_mirrored(spec); }
bool fits(const HiddenNumbers&, const EnvSpec& spec) { return shows_numbers(spec); }
bool fits(const FrameStack&, const EnvSpec& spec) { return shows_frames(spec); }

Status describe(const ActionScale& scale, EnvSpec& spec) {
  return describe_action_scale(scale, spec);
}
Status describe(const DeclaredMirror& mirror, EnvSpec& spec) {
  return describe_mirror(mirror, spec);
}
Status describe(const HiddenNumbers& hidden, EnvSpec& spec) {
  return describe_hidden_numbers(hidden, spec);
}
Status describe(const FrameStack& frames, EnvSpec& spec) {
  return describe_frame_stack(frames, spec);
}

using Envs = std::unique_ptr<VecEnv>;
Envs wrapped(Envs envs, const ActionScale&) { return scale_actions(std::move(envs)); }
Envs wrapped(Envs envs, const DeclaredMirror& mirror) {
  return declare_mirror(std::move(envs), mirror);
}
Envs wrapped(Envs envs, const HiddenNumbers& hidden) {
  return hide_numbers(std::move(envs), hidden);
}
Envs wrapped(Envs envs, const FrameStack& frames) { return stack_frames(std::move(envs), frames); }

// Calls visit(wrapper) for each, in their order.
template <class Some, class Visit>
void for_each(Some&& wrappers, Visit&& visit) {
  visit(wrappers.scale);
  visit(wrappers.mirror);
  visit(wrappers.hidden);
  visit(wrappers.frames);
}

}  // namespace

std::vector<FieldInfo> wrapper_options(const EnvSpec& spec) {
  std::vector<FieldInfo> all;
  for_each(EnvWrappers{}, [&](const auto& wrapper) {
    if (!fits(wrapper, spec)) return;
    for (FieldInfo& field : list_fields(wrapper)) all.push_back(std::move(field));
  });
  return all;
}

Status describe_wrappers(const EnvWrappers& wrappers, EnvSpec& spec) {
  Status status;
  for_each(wrappers, [&](const auto& wrapper) {
    if (status.ok()) status = describe(wrapper, spec);
  });
  return status;
}

Result<bool> set_wrapper_option(EnvWrappers& wrappers, const std::string& name,
                                const std::string& text) {
  bool is_found = false;
  Status status;
  for_each(wrappers, [&](auto& wrapper) {
    const std::vector<std::string> names =
        field_names<std::remove_reference_t<decltype(wrapper)>>();
    if (std::find(names.begin(), names.end(), name) == names.end()) return;
    is_found = true;
    status = set_field(wrapper, name, text, "option");
  });
  if (!status.ok()) return Status(status.kind(), "env." + status.message());
  return is_found;
}

std::unique_ptr<VecEnv> wrap(std::unique_ptr<VecEnv> envs, const EnvWrappers& wrappers) {
  for_each(wrappers, [&](const auto& wrapper) {
    if (wrapper.any()) envs = wrapped(std::move(envs), wrapper);
  });
  return envs;
}

}  // namespace broadloom
