// Capability: environments that show what their present episodes were given. The instrument 'audit'
// asks for it, to find environments that share what each should draw for itself.
#pragma once

#include <cstddef>
#include <span>

namespace broadloom {

class AuditContext {
 public:
  virtual ~AuditContext() = default;

  // The bytes of the constants that the environment's present episode drew; empty: none are drawn.
  virtual std::span<const std::byte> drawn_constants(int) const { return {}; }
  // Writes the numbers of spec().context as the environment has them now.
  virtual void context(int, std::span<double>) const {}
};

}  // namespace broadloom
