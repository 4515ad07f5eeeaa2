// A fuzz target over files of environment variables, which containers write. For any bytes the
// variables are text, and survive being written to a new file.

#include "libs/base/text.h"
#include "libs/kube/env_file.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace splitlet;  // NOLINT(google-build-using-namespace): one function
  const auto parsed =
      kube::ParseEnvFile(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!parsed.ok()) return -1;
  std::string again;
  for (const auto& [key, value] : *parsed) {
    CHECK(IsText(key) && IsText(value), "{}={}", key, value);
    if (key.starts_with('#')) return 0;
    again += key + "='" + value + "'\n";
  }
  const auto second = kube::ParseEnvFile(again);
  CHECK(second.ok() && *second == *parsed, "{} is another file", again);
  return 0;
}

FuzzCorpus MakeFuzzCorpus() {
  FuzzCorpus corpus;
  corpus.inputs = {"A='1'\nB='two\nlines'\n# comment\n\nC=''\n", "A='1' ", "KEY='\u20ac'\r\n"};
  corpus.tokens = {"'", "\n", "=", "#", "A='", "\\", std::string(1, '\0'), "\xff"};
  return corpus;
}
