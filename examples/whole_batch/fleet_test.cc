// Runs the library's conformance checks on your own simulator. It also counts allocations, which
// `fleet env check` cannot.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>

#include "broadloom/env/conformance/conformance.h"
#include "fleet.h"

namespace {
std::atomic<std::int64_t> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main() {
  broadloom::ConformanceOptions options;
  options.allocations = [] { return allocations.load(); };
  const broadloom::ConformanceReport report = broadloom::check_vec_env(
      [](const broadloom::VecEnvOptions& asked) {
        return broadloom::Result<std::unique_ptr<broadloom::VecEnv>>(
            std::make_unique<Fleet>(asked));
      },
      options);
  for (const std::string& finding : report.findings()) std::printf("%s\n", finding.c_str());
  return report.findings().empty() ? 0 : 1;
}
