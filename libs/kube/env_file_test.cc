#include "libs/kube/env_file.h"

#include <gtest/gtest.h>

namespace splitlet::kube {
namespace {

const struct {
  const char* text;
  const char* want;  // "K=v;..." or the error
} kTexts[] = {
    {"", ""},
    {"A='1'", "A=1;"},
    {"A='1'\nB=''\n", "A=1;B=;"},
    {"\n  \n# A='0'\n  # comment\nA='1'  \r\n", "A=1;"},
    {"A='1'\nA='2'", "A=2;"},
    {"A='one\ntwo # =\n'\nB='\\n $(A)'", "A=one\ntwo # =\n;B=\\n $(A);"},
    {"A.b-c='1'", "A.b-c=1;"},
    {"A=1", "line 1: the value is not in single quotes"},
    {"A=", "line 1: the value is not in single quotes"},
    {"A=\"1\"", "line 1: the value is not in single quotes"},
    {"A= '1'", "line 1: the value is not in single quotes"},
    {"A ='1'", "line 1: expected KEY='value'"},
    {" A='1'", "line 1: expected KEY='value'"},
    {"='1'", "line 1: expected KEY='value'"},
    {"A", "line 1: expected KEY='value'"},
    {"A='1\n2'\nB='", "line 3: the value does not end"},
    {"A='1' B='2'", "line 1: unexpected text after the value"},
    {"A='1'# no comment", "line 1: unexpected text after the value"},
};

TEST(ParseEnvFile, Lines) {
  for (const auto& c : kTexts) {
    SCOPED_TRACE(c.text);
    const auto parsed = ParseEnvFile(c.text);
    std::string got;
    if (parsed.ok()) {
      for (const auto& [key, value] : *parsed) got += key + "=" + value + ";";
    } else {
      got = Message(parsed.status());
    }
    EXPECT_EQ(got, c.want);
  }
  EXPECT_FALSE(ParseEnvFile(std::string_view("A='\0'", 5)).ok());
}

}  // namespace
}  // namespace splitlet::kube
