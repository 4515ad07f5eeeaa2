// Entry point of a fuzzer over the scenario parser: for any bytes, parsing ends in one line of
// error or in a scenario that has a plan. tests/fuzz drives it over mutations of a corpus.

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
  // Rejects plans that are valid but huge, such as a day of faults every 50 ms.
  if (scenario->duration > 10min) return 0;
  for (const Step& step : MakePlan(*scenario, 1).steps) CHECK(step.at <= scenario->duration);
  return 0;
}
