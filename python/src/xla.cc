#include "xla.h"

#include <array>
#include <cfenv>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

namespace nb = nanobind;

namespace broadloom::python {
namespace {

// The comments name XLA's structs.
namespace xla {

struct Extension {  // XLA_FFI_Extension_Base
  std::size_t size;
  int type;
  Extension* next;
};
struct Version {  // XLA_FFI_Api_Version
  std::size_t size;
  Extension* extensions;
  int major, minor;
};
struct Buffer {  // XLA_FFI_Buffer
  std::size_t size;
  Extension* extensions;
  int type;
  void* data;
  std::int64_t rank;
  const std::int64_t* extents;
};
struct Operands {  // XLA_FFI_Args and XLA_FFI_Rets
  std::size_t size;
  Extension* extensions;
  std::int64_t count;
  const int* kinds;
  void** values;
};
struct Frame {  // XLA_FFI_CallFrame, its first fields
  std::size_t size;
  Extension* extensions;
  const void* api;
  void* context;
  int stage;
  Operands inputs, outputs;
};
struct Metadata {  // XLA_FFI_Metadata, its first fields
  std::size_t size;
  Version version;
  std::uint32_t traits;
};
struct MetadataExtension {  // XLA_FFI_Metadata_Extension
  Extension base;
  Metadata* metadata;
};
constexpr int kMetadata = 1, kExecute = 3;

}  // namespace xla

constexpr std::size_t kMostInputs = 16;

// Bytes of XLA_FFI_DataType, of those that programs here pass; else 0.
std::size_t type_bytes(int type) {
  switch (type) {
    case 1:  // PRED
    case 6:  // U8
      return 1;
    case 4:   // S32
    case 8:   // U32
    case 11:  // F32
      return 4;
    default:
      return 0;
  }
}

XlaArray array_of(const void* value) {
  const xla::Buffer& buffer = *static_cast<const xla::Buffer*>(value);
  std::size_t bytes = type_bytes(buffer.type);
  for (std::int64_t d = 0; d < buffer.rank; ++d)
    bytes *= static_cast<std::size_t>(buffer.extents[d]);
  return {static_cast<std::byte*>(buffer.data), bytes};
}

// XLA rounds denormal numbers to 0 in its threads. Broadloom's bits need the usual arithmetic.
class UsualArithmetic {
 public:
  UsualArithmetic() {
    std::fegetenv(&outer_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~UsualArithmetic() { std::fesetenv(&outer_); }
  UsualArithmetic(const UsualArithmetic&) = delete;
  UsualArithmetic& operator=(const UsualArithmetic&) = delete;

 private:
  std::fenv_t outer_;
};

struct Slot {
  std::mutex mutex;
  XlaCallee* callee;  // null: gone
};
struct Slots {
  std::mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<Slot>> by_number;
  std::uint64_t last = 0;
};
// They are never freed: a program may still run when the process ends.
Slots& slots() {
  static Slots* const all = new Slots;
  return *all;
}

void call(std::uint64_t number, std::span<const XlaArray> inputs, const XlaArray& output) {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(slots().mutex);
    const auto found = slots().by_number.find(number);
    if (found != slots().by_number.end()) slot = found->second;
  }
  if (slot != nullptr) {
    const std::lock_guard lock(slot->mutex);
    if (slot->callee != nullptr) return slot->callee->called(inputs, output);
  }
  std::memset(output.data, 0, output.bytes);
}

// XLA_FFI_Handler. Null: no error. XLA also calls it once to ask for its version, before any other
// call. jaxlib 0.7 refuses 0.3. All that is used here is in 0.1, which 0.7 and 0.10 take.
extern "C" void* broadloom_xla_function(xla::Frame* frame) {
  if (frame->extensions != nullptr && frame->extensions->type == xla::kMetadata) {
    auto* asked = reinterpret_cast<xla::MetadataExtension*>(frame->extensions);
    asked->metadata->version = {sizeof(xla::Version), nullptr, 0, 1};
    asked->metadata->traits = 0;
    return nullptr;
  }
  if (frame->stage != xla::kExecute) return nullptr;
  const UsualArithmetic usual;
  std::array<std::uint32_t, 2> halves;
  std::memcpy(halves.data(), array_of(frame->inputs.values[0]).data, sizeof(halves));
  const std::uint64_t number = halves[0] | std::uint64_t{halves[1]} << 32;
  std::array<XlaArray, kMostInputs> inputs;
  const auto count = static_cast<std::size_t>(frame->inputs.count) - 1;
  for (std::size_t i = 0; i < count; ++i) inputs[i] = array_of(frame->inputs.values[i + 1]);
  call(number, {inputs.data(), count}, array_of(frame->outputs.values[0]));
  return nullptr;
}

}  // namespace

XlaTicket::XlaTicket(XlaCallee& callee) {
  const auto slot = std::make_shared<Slot>();
  slot->callee = &callee;
  const std::lock_guard lock(slots().mutex);
  number_ = ++slots().last;
  slots().by_number[number_] = slot;
}

// A call needs no GIL, so that a caller with the GIL may wait for it.
XlaTicket::~XlaTicket() {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(slots().mutex);
    slot = slots().by_number.extract(number_).mapped();
  }
  const std::lock_guard wait(slot->mutex);
  slot->callee = nullptr;
}

nb::object XlaTicket::halves() const {
  return nb::make_tuple(number_ & 0xffffffffU, number_ >> 32);
}

void bind_xla(nb::module_& m) {
  m.def("xla_function", [] {
    return nb::capsule(reinterpret_cast<const void*>(&broadloom_xla_function),
                       "xla._CUSTOM_CALL_TARGET");
  });
}

}  // namespace broadloom::python
