#include "libs/plugins/plugin.h"

#include <gtest/gtest.h>

#include <functional>

namespace splitlet::plugins {
namespace {

TEST(CheckPlugin, WhatAPluginAnswersIsTextAndBounded) {
  const struct {
    const char* name;
    std::function<void(Plugin&)> change;
    const char* error;
  } kCases[] = {
      {"a usual one", [](Plugin&) {}, ""},
      {"no versions: the handler judges", [](Plugin& p) { p.versions.clear(); }, ""},
      {"an endpoint as a URL", [](Plugin& p) { p.endpoint = "unix://" + std::string(107, 'e'); },
       ""},
      {"no name", [](Plugin& p) { p.name.clear(); }, "the name is empty"},
      {"no type", [](Plugin& p) { p.type.clear(); }, "the type is empty"},
      {"a long name", [](Plugin& p) { p.name.assign(257, 'n'); },
       "the name has 257 bytes, at most 256 are taken"},
      {"a name with NUL", [](Plugin& p) { p.name = std::string("a\0b", 3); },
       "the name is not UTF-8 without NUL"},
      {"a type that is no text", [](Plugin& p) { p.type = "\xff"; },
       "the type is not UTF-8 without NUL"},
      {"an endpoint that no socket has", [](Plugin& p) { p.endpoint.assign(108, 'e'); },
       "the endpoint has 108 bytes, the address of a unix socket takes 107"},
      {"an endpoint with NUL", [](Plugin& p) { p.endpoint = std::string("/a\0", 3); },
       "the endpoint is not UTF-8 without NUL"},
      {"many versions", [](Plugin& p) { p.versions.assign(65, "1.0.0"); },
       "there are 65 supported versions, at most 64 are taken"},
      {"a long version",
       [](Plugin& p) {
         p.versions = {"1.0.0", std::string(257, '1')};
       },
       "a supported version has 257 bytes, at most 256 are taken"},
      {"a version that is no text", [](Plugin& p) { p.versions = {"\xc0"}; },
       "a supported version is not UTF-8 without NUL"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Plugin plugin{.socket = "/reg/a.sock",
                  .type = kCsiPlugin,
                  .name = "disk.example",
                  .endpoint = "/csi/disk.sock",
                  .versions = {"1.0.0"}};
    c.change(plugin);
    EXPECT_EQ(Message(CheckPlugin(plugin)), c.error);
  }
}

}  // namespace
}  // namespace splitlet::plugins
