#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "libs/base/clock.h"
#include "libs/base/mutate.h"
#include "libs/base/random.h"
#include "libs/base/status.h"
#include "tests/fuzz/fuzz.h"

namespace splitlet {
namespace {

constexpr int kInputsPerLook = 50;
constexpr size_t kMaxKept = 500;
constexpr size_t kMaxKeptBytes = 8u << 10;

uint64_t Number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Keeps each input in a file while it is tried, so that the file remains when the process dies.
class Keeper {
 public:
  explicit Keeper(const char* path)
      : file_(path == nullptr ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    CHECK(path == nullptr || file_ >= 0, "{}", path);
  }
  ~Keeper() {
    if (file_ >= 0) close(file_);
  }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// False: the input was refused.
  bool Try(const std::string& input) const {
    const auto size = static_cast<ssize_t>(input.size());
    if (file_ >= 0)
      CHECK(pwrite(file_, input.data(), input.size(), 0) == size && ftruncate(file_, size) == 0);
    return LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size()) ==
           0;
  }

 private:
  const int file_;
};

/// Mutates accepted inputs further, so that combinations arise that rarely survive from one
/// mutation.
class Inputs {
 public:
  Inputs(FuzzCorpus corpus, uint64_t seed)
      : corpus_(std::move(corpus)), given_(corpus_.inputs.size()), random_(seed) {}

  std::string Next() {
    std::string input = corpus_.inputs[random_.Below(corpus_.inputs.size())];
    if (random_.Below(2) == 0) return Mutate(input, corpus_.inputs, corpus_.tokens, random_);
    for (uint64_t again = random_.Below(3) + 1; again > 0 && !input.empty(); --again) Touch(input);
    return input;
  }

  void Keep(std::string input) {
    if (input.size() > kMaxKeptBytes) return;
    if (corpus_.inputs.size() < given_ + kMaxKept) {
      corpus_.inputs.push_back(std::move(input));
    } else {
      corpus_.inputs[given_ + random_.Below(kMaxKept)] = std::move(input);
    }
  }

 private:
  /// Changes one place and keeps the length, so that lengths in binary formats and layouts of text
  /// stay valid.
  void Touch(std::string& input) {
    const size_t at = random_.Below(input.size());
    const std::string& token = corpus_.tokens[random_.Below(corpus_.tokens.size())];
    switch (random_.Below(5)) {
      case 0: input[at] = static_cast<char>(random_.Next()); break;
      case 1: input[at] = static_cast<char>(input[at] + 1); break;
      case 2: input[at] = static_cast<char>(input[at] ^ (1 << random_.Below(8))); break;
      case 3: input[at] = input[random_.Below(input.size())]; break;
      default: input.replace(at, token.size(), token, 0, input.size() - at);
    }
  }

  FuzzCorpus corpus_;
  const size_t given_;
  Random random_;
};

/// FUZZ_SECONDS: time limit instead of a number of inputs; FUZZ_SEED: other inputs; FUZZ_INPUT: a
/// file that keeps each input while it is tried; FUZZ_REPLAY: such a file, to try it alone.
TEST(FuzzTarget, NoInputBreaksWhatMustHold) {
  if (const char* path = std::getenv("FUZZ_REPLAY")) {
    std::ifstream file(path, std::ios::binary);
    ASSERT_TRUE(file.is_open()) << path;
    Keeper(nullptr).Try({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
    return;
  }
  const FuzzCorpus corpus = MakeFuzzCorpus();
  ASSERT_FALSE(corpus.inputs.empty());
  const Keeper keeper(std::getenv("FUZZ_INPUT"));
  keeper.Try("");
  for (const auto& input : corpus.inputs) EXPECT_TRUE(keeper.Try(input)) << input;
  uint64_t tried = corpus.inputs.size() + 1, accepted = corpus.inputs.size();
  Inputs inputs(corpus, Number("FUZZ_SEED", 20260102));
  const RealClock clock;
  const uint64_t seconds = Number("FUZZ_SECONDS", 0);
  const Clock::Time end = clock.Now() + std::chrono::seconds(seconds);
  while (seconds > 0 ? clock.Now() < end : tried < FUZZ_INPUTS) {
    for (int i = 0; i < kInputsPerLook; ++i, ++tried) {
      std::string input = inputs.Next();
      if (!keeper.Try(input)) continue;
      ++accepted;
      inputs.Keep(std::move(input));
    }
  }
  EXPECT_GT(accepted, tried / 20) << "hardly an input survives its mutations";
  fmt::print("{} inputs, {} accepted\n", tried, accepted);
}

}  // namespace
}  // namespace splitlet
