#include "importing.h"

#include <fmt/core.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"
#include "buffer.h"
#include "errors.h"
#include "overrides.h"

namespace nb = nanobind;

namespace broadloom::python {
namespace {

Result<std::unique_ptr<Trainer>> make_trainer(const Overrides& keys) {
  const nb::gil_scoped_release unlocked;
  allow_settings(keys);
  const Result<Config> config = assemble_config(keys);  // another trainer's keys may do nothing
  if (!config.ok()) return config.status();
  BROADLOOM_TRY(check_config(config.value()));
  return Trainer::create(config.value(), 1);
}

// arrays: contiguous NumPy arrays by the names of a checkpoint's tensors, in their dtypes.
Status fill(const nb::dict& arrays, std::vector<TensorRef> state) {
  for (const auto& [key, array] : arrays) {
    const std::string name = nb::cast<std::string>(key);
    const auto tensor = std::find_if(state.begin(), state.end(),
                                     [&](const TensorRef& ref) { return ref.name == name; });
    if (tensor == state.end())
      return {ErrorKind::kMismatch,
              "got the tensor '" + name + "', which such a run does not have"};
    const auto count = nb::cast<std::size_t>(array.attr("size"));
    if (count != tensor->count()) {
      return {
          ErrorKind::kMismatch,
          fmt::format("{}: got {} numbers, expected {} for these settings; set the network to the "
                      "policy's",
                      name, count, tensor->count())};
    }
    const Buffer buffer(array, name.c_str(), count, dtype_size(tensor->dtype));
    const Status values = check_values(*tensor, buffer.as<std::byte>());
    if (!values.ok())
      return {ErrorKind::kNumeric, "got an array with bad values: " + values.message()};
    std::memcpy(tensor->data, buffer.as<std::byte>(), count * dtype_size(tensor->dtype));
  }
  return {};
}

// Writes a checkpoint at step 0 of a new run with these keys, with the given arrays as its state.
void write_checkpoint(const nb::dict& keys, const nb::dict& arrays, const std::string& path) {
  if (std::filesystem::exists(path))
    raise({ErrorKind::kIo, "'" + path + "' exists already; choose another path with out="});
  Result<std::unique_ptr<Trainer>> made = make_trainer(overrides_from(keys));
  if (!made.ok()) raise(made.status());
  Trainer& trainer = *made.value();
  Status status = trainer.capture();
  if (status.ok()) status = fill(arrays, trainer.state());
  if (status.ok()) {
    const nb::gil_scoped_release unlocked;
    status = trainer.state_restored();
    if (status.ok()) status = save_checkpoint(path, trainer, {});
  }
  if (!status.ok()) raise(status);
}

}  // namespace

void bind_importing(nb::module_& m) {
  m.def("write_checkpoint", &write_checkpoint, nb::arg("keys"), nb::arg("arrays"), nb::arg("path"));
}

}  // namespace broadloom::python
