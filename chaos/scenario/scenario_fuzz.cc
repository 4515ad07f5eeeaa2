// Entry point of a fuzzer over the scenario parser: whatever the bytes are, parsing ends in one
// line of error or in a scenario whose plan is made. tests/fuzz drives it over mutations of a
// corpus.

#include <cstddef>
#include <cstdint>

#include "chaos/scenario/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace splitlet;         // NOLINT(google-build-using-namespace): one function
  using namespace splitlet::chaos;  // NOLINT(google-build-using-namespace): one function
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto scenario = ParseScenario(text, "fuzz.yaml", [](const std::string&) {
    return StatusOr<std::string>(NotFound("no such file"));
  });
  if (!scenario.ok()) {
    const std::string message = Message(scenario.status());
    CHECK(message.starts_with("fuzz.yaml: "), "{}", message);
    return -1;
  }
  CHECK(!scenario->pods.empty());
  // A day of faults, one each 50 ms, is no mistake of the parser.
  if (scenario->duration > 10min) return 0;
  for (const Step& step : MakePlan(*scenario, 1).steps) CHECK(step.at <= scenario->duration);
  return 0;
}
