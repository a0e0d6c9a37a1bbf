#include "broadloom/core/utc_time.h"

#include <ctime>

namespace broadloom {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  char text[sizeof "2026-01-31T12:00:00Z"];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", ::gmtime_r(&now, &utc))};
}

}  // namespace broadloom
