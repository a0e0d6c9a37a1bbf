// Capability: environments that report what they gave the current episode. The instrument 'audit'
// uses it to find environments that share values they should draw independently.
#pragma once

#include <cstddef>
#include <span>

namespace broadloom {

class AuditContext {
 public:
  virtual ~AuditContext() = default;

  // Bytes of the constants drawn for the environment's current episode. Empty: none are drawn.
  virtual std::span<const std::byte> drawn_constants(int) const { return {}; }
  // Writes the current values of spec().context, in its order.
  virtual void context(int, std::span<double>) const {}
};

}  // namespace broadloom
