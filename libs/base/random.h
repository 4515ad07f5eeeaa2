#pragma once

/// A seeded source of jitter; the same seed gives the same numbers on every machine.
/// Threads: one at a time; nothing fails.

#include <cstdint>

#include "libs/base/clock.h"

namespace splitlet {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  /// In [0, n); n > 0.
  uint64_t Below(uint64_t n) { return Next() % n; }
  /// In [0, 1).
  double Unit();
  /// d * [1, 1 + fraction).
  Duration Jitter(Duration d, double fraction);

 private:
  uint64_t state_;
};

/// A random number from the kernel, for ids that must differ between processes and starts.
uint64_t RandomSeed();

}  // namespace splitlet
