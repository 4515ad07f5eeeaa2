#pragma once

/// A fuzz target: LLVMFuzzerTestOneInput, which ends by CHECK when what must hold does not, and
/// what its mutations begin with. One target for each program; driver_test.cc drives it, in a unit
/// test a fixed number of inputs, by the clock in `make fuzz`. One thread.
/// Errors: the program aborts, and the input that did it is in the file that FUZZ_INPUT names.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// 0, or -1 for an input that was refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

/// Good inputs, and pieces that mean something in them.
struct FuzzCorpus {
  std::vector<std::string> inputs;
  std::vector<std::string> tokens;
};
FuzzCorpus MakeFuzzCorpus();
