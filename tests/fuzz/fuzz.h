#pragma once

/// A fuzz target: LLVMFuzzerTestOneInput, which aborts by CHECK if a property does not hold, and
/// its corpus. One target for each program. driver_test.cc drives it: in a unit test with a fixed
/// number of inputs, in `make fuzz` for a time. One thread.
/// Errors: the program aborts, and the file that FUZZ_INPUT names has the input.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// 0, or -1 for a refused input.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

/// Valid inputs, and tokens with a meaning in them.
struct FuzzCorpus {
  std::vector<std::string> inputs;
  std::vector<std::string> tokens;
};
FuzzCorpus MakeFuzzCorpus();
