#include "libs/https/tls_files.h"

#include <gtest/gtest.h>

#include "libs/fs/fake_file_system.h"
#include "libs/x509/authority.h"

namespace splitlet::https {
namespace {

/// The files of a server, which change.
class TlsFilesTest : public testing::Test {
 protected:
  TlsFilesTest() { WriteAll(); }
  void WriteAll() {
    const auto pair = x509::MakeSelfSigned("node", {}, clock_.WallNow());
    ASSERT_TRUE(pair.ok()) << pair.status();
    for (const auto& [path, text] :
         {std::pair("/s.crt", pair->chain), {"/s.key", pair->key}, {"/ca.crt", pair->chain}})
      ASSERT_TRUE(files_.Replace(path, text, {}).ok());
  }
  TlsFiles::Places Places() const {
    return {.pairs = {{"/s.crt", "/s.key"}}, .client_ca = "/ca.crt"};
  }

  FakeClock clock_;
  fs::FakeFileSystem files_{clock_};
};

TEST_F(TlsFilesTest, WhatMayNotBeReloadedStaysAsItWasFirst) {
  const struct {
    const char* name;
    bool pair, client_ca;
  } kCases[] = {
      {"both are read again", true, true},
      {"the certificate alone", true, false},
      {"the authority alone", false, true},
      {"none", false, false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    auto places = Places();
    places.reload_pair = c.pair;
    places.reload_client_ca = c.client_ca;
    TlsFiles tls(files_, {}, places);
    const auto first = tls.Look();
    ASSERT_EQ(first.problem, OkStatus());
    ASSERT_TRUE(first.changed);
    WriteAll();
    const auto second = tls.Look();
    EXPECT_EQ(second.problem, OkStatus());
    EXPECT_EQ(second.authority != first.authority, c.client_ca);
    // The list of authorities is part of the context.
    EXPECT_EQ(second.context != first.context, c.pair || c.client_ca);
    EXPECT_EQ(second.changed, c.pair || c.client_ca);
    EXPECT_FALSE(tls.Look().changed);
  }
}

TEST_F(TlsFilesTest, APairThatComesLaterIsReadWhenItIsThere) {
  ASSERT_TRUE(files_.Remove("/s.crt").ok());
  auto places = Places();
  places.reload_pair = places.reload_client_ca = false;
  TlsFiles tls(files_, {}, places);
  EXPECT_EQ(tls.Look().problem.code(), StatusCode::kNotFound);
  EXPECT_FALSE(IsAwaited(tls.Look().problem)) << "no process makes it";
  WriteAll();
  const auto found = tls.Look();
  EXPECT_EQ(found.problem, OkStatus());
  EXPECT_NE(found.context, nullptr);
}

TEST_F(TlsFilesTest, APairThatTheNodeMakesItselfIsAwaited) {
  ASSERT_TRUE(files_.Remove("/s.crt").ok());
  auto places = Places();
  places.made_here = true;
  TlsFiles tls(files_, {}, places);
  EXPECT_TRUE(IsAwaited(tls.Look().problem));
  ASSERT_TRUE(files_.Remove("/ca.crt").ok());
  EXPECT_FALSE(IsAwaited(tls.Look().problem)) << "no process makes the authority";
}

}  // namespace
}  // namespace splitlet::https
