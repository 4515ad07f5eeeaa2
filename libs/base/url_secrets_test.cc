#include "libs/base/url_secrets.h"

#include <gtest/gtest.h>

#include <utility>

namespace splitlet {
namespace {

TEST(WithoutSecrets, UserPasswordAndQueryAreHidden) {
  const std::pair<const char*, const char*> kCases[] = {
      {"http://host/pods", "http://host/pods"},
      {"http://host:8080/a@b", "http://host:8080/a@b"},
      {"http://u@host", "http://xxxxx@host"},
      {"http://u:p@q@host/", "http://xxxxx@host/"},
      {"http://host?secret", "http://host?xxxxx"},
      {"http://host/?a=1&b&c=3&", "http://host/?a=xxxxx&xxxxx&c=xxxxx&xxxxx"},
      {"http://host/#frag", "http://host/"},
      {"http://host?a=b@c", "http://host?a=xxxxx"},
      {"u:p@host/pods", "xxxxx@host/pods"},
      {"", ""},
  };
  for (const auto& [url, want] : kCases) EXPECT_EQ(WithoutSecrets(url), want) << url;
}

}  // namespace
}  // namespace splitlet
