#include "libs/daemon/mapped_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <span>
#include <string>

namespace splitlet::daemon {
namespace {

/// The executable part of this program: what is mapped of it now, and where it is.
struct Code {
  size_t begin = 0, end = 0;
  int resident_kb = 0;
};

Code CodeOfThisProgram() {
  std::ifstream maps("/proc/self/smaps");
  Code code;
  const auto anywhere = reinterpret_cast<size_t>(&CodeOfThisProgram);
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    size_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx ", &begin, &end) == 2) {
      here = begin <= anywhere && anywhere < end;
      if (here) code = {.begin = begin, .end = end};
    }
    int kb = 0;
    if (here && std::sscanf(line.c_str(), "Rss: %d kB", &kb) == 1) code.resident_kb = kb;
  }
  return code;
}

TEST(MappedFiles, CodeThatIsNotInUseIsUnmappedAndComesBackWhenItIsTouched) {
  const Code code = CodeOfThisProgram();
  ASSERT_NE(code.begin, 0u);
  const std::span<const unsigned char> bytes(reinterpret_cast<const unsigned char*>(code.begin),
                                             code.end - code.begin);
  const auto sum = [&bytes] { return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}); };
  const uint64_t before = sum();
  const int all_kb = CodeOfThisProgram().resident_kb;
  EXPECT_EQ(all_kb, static_cast<int>((code.end - code.begin) / 1024));

  ForgetPagesOfFiles();

  EXPECT_LT(CodeOfThisProgram().resident_kb, all_kb);
  EXPECT_EQ(sum(), before);
}

}  // namespace
}  // namespace splitlet::daemon
