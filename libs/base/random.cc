#include "libs/base/random.h"

#include <random>

namespace splitlet {

uint64_t Random::Next() {  // splitmix64
  state_ += 0x9E3779B97F4A7C15ULL;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

double Random::Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

Duration Random::Jitter(Duration d, double fraction) {
  const double extra = static_cast<double>(d.count()) * fraction * Unit();
  return d + Duration{static_cast<int64_t>(extra)};
}

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace splitlet
