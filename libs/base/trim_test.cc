#include "libs/base/trim.h"

#include <gtest/gtest.h>

namespace splitlet {
namespace {

TEST(Trim, BlanksAndLineEndsGo) {
  const struct {
    const char* name;
    const char *text, *trimmed, *first_line;
  } kCases[] = {
      {"nothing stays nothing", "", "", ""},
      {"blanks alone are nothing", " \t\r\n", "", ""},
      {"what has none stays", "a", "a", "a"},
      {"the line end of a file", "0-3\n", "0-3", "0-3"},
      {"those of Windows, and tabs", "\t a b \r\n", "a b", "a b"},
      {"of two lines the first", "one \n two\n", "one \n two", "one"},
      {"an empty first line is the first", "\n two", "two", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Trimmed(c.text), c.trimmed);
    EXPECT_EQ(FirstLine(c.text), c.first_line);
  }
}

}  // namespace
}  // namespace splitlet
