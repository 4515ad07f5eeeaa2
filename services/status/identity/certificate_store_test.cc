#include "services/status/identity/certificate_store.h"

#include <gtest/gtest.h>

#include "libs/fs/fake_file_system.h"
#include "libs/x509/authority.h"
#include "libs/x509/request.h"

namespace splitlet::status {
namespace {

class Store : public ::testing::Test {
 protected:
  Store() : authority_(*x509::Authority::Make("ca", x509::KeyKind::kEcP256, Valid())) {}

  x509::Validity Valid() const { return {clock.WallNow(), clock.WallNow() + 1h}; }
  std::string Sign(const std::string& key, const std::string& name) const {
    const auto request = x509::MakeRequest(key, {.common_name = name});
    EXPECT_TRUE(request.ok());
    return *authority_.Sign(*request, x509::Usage::kClient, Valid());
  }
  void Save(const std::string& name) {
    const std::string key = *x509::MakeKey(x509::KeyKind::kEcP256);
    const auto saved = store.Save(Sign(key, name), key);
    ASSERT_TRUE(saved.ok()) << saved.status();
    EXPECT_EQ(saved->names.common_name, name);
  }
  std::string Loaded() {
    const auto loaded = store.Load();
    if (!loaded.ok()) return ToString(loaded.status());
    return loaded->has_value() ? loaded->value().names.common_name : "none";
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& entry : files.List("/pki").value_or(std::vector<fs::DirEntry>()))
      names.push_back(entry.name);
    return names;
  }

  FakeClock clock;
  fs::FakeFileSystem files{clock};
  CertificateStore store{clock, files, {.folder = "/pki", .prefix = "kubelet-client"}};

 private:
  const x509::Authority authority_;
};

TEST_F(Store, HasNothingAtFirst) { EXPECT_EQ(Loaded(), "none"); }

TEST_F(Store, LinksTheNewestAndKeepsTheOthers) {
  Save("a");
  EXPECT_EQ(Loaded(), "a");
  clock.Advance(1s);
  Save("b");
  EXPECT_EQ(Loaded(), "b");
  EXPECT_EQ(Names().size(), 3u);  // two files and a link
  EXPECT_EQ(files.ReadSymlink(store.current()).value_or("").substr(0, 25),
            "/pki/kubelet-client-2026-");
}

TEST_F(Store, MovesALinkThatACrashLeftBehind) {
  Save("a");
  ASSERT_TRUE(
      files.Rename("/pki/kubelet-client-current.pem", "/pki/kubelet-client-updated.pem").ok());
  EXPECT_EQ(Loaded(), "a");
  EXPECT_TRUE(files.Stat(store.current(), false).ok());
}

/// Each certificate has a file of its own name: no later write would take its place.
TEST_F(Store, WhatWasBeingWrittenWhenItsProcessWasKilledGoes) {
  Save("a");
  for (const char* name :
       {".kubelet-client-2026-01-02-03-04-05.pem.new", ".kubelet-client.key.tmp.new",
        ".kubelet-server-2026-01-02-03-04-05.pem.new"})
    ASSERT_TRUE(files.Replace(std::string("/pki/") + name, "half a key", {}).ok());
  EXPECT_EQ(Loaded(), "a");
  EXPECT_EQ(Names().size(), 3U);
  EXPECT_EQ(Names().front(), ".kubelet-server-2026-01-02-03-04-05.pem.new") << "of another store";
}

TEST_F(Store, ReplacesNoFileOfSomebodyElse) {
  ASSERT_TRUE(files.Replace(store.current(), "mine", {}).ok());
  EXPECT_NE(Loaded().find("to be a symlink but it is a file"), std::string::npos) << Loaded();
  const std::string key = *x509::MakeKey(x509::KeyKind::kEcP256);
  EXPECT_EQ(store.Save(Sign(key, "a"), key).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(*files.Read(store.current(), 100), "mine");
}

TEST_F(Store, TakesNoPairThatIsNone) {
  Save("a");
  const std::string key = *x509::MakeKey(x509::KeyKind::kEcP256);
  EXPECT_FALSE(store.Save(Sign(*x509::MakeKey(x509::KeyKind::kEcP256), "b"), key).ok());
  EXPECT_FALSE(store.Save("garbage", key).ok());
  EXPECT_EQ(Loaded(), "a");
}

TEST_F(Store, AFullDiskLeavesWhatWasThere) {
  Save("a");
  clock.Advance(1s);
  files.SetFull("/pki", true);
  const std::string key = *x509::MakeKey(x509::KeyKind::kEcP256);
  EXPECT_EQ(store.Save(Sign(key, "b"), key).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Loaded(), "a");
}

TEST_F(Store, KeepsItsKeyUntilItIsDropped) {
  const auto key = store.EnsureKey();
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(*store.EnsureKey(), *key);
  ASSERT_TRUE(files.Replace("/pki/kubelet-client.key.tmp", "half", {}).ok());
  EXPECT_NE(*store.EnsureKey(), *key);
  ASSERT_TRUE(store.DropKey().ok());
  EXPECT_TRUE(store.DropKey().ok());
  EXPECT_TRUE(Names().empty());
}

}  // namespace
}  // namespace splitlet::status
