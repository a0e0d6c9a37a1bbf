// What another project sees of an installed Broadloom.
#include <cstdio>

#include "broadloom/core/random.h"
#include "broadloom/core/status.h"

int main() {
  broadloom::Random random(1, broadloom::Purpose::kUser, 0, 0);
  const double value = random.uniform();
  std::printf("uniform %.6f\n", value);
  return value >= 0.0 && value < 1.0 ? 0 : 1;
}
