#include "services/gc/collect/containers/remover.h"

#include <gtest/gtest.h>

#include <string>

#include "services/gc/gc_fixture.h"

namespace splitlet::gc {
namespace {

/// The runtime names the path, so a wrong path must not cost a file of somebody else.
TEST(Remover, NoFileGoesThatIsNotBelowTheLogs) {
  for (const std::string dir : {"/var/log/pods/../../etc", "/etc", "/var/log/pods2"}) {
    SCOPED_TRACE(dir);
    TestNode node;
    node.log_directory = dir;
    const std::string file = dir + "/app/0.log";
    ASSERT_TRUE(node.files.Replace(file, "x", {}).ok());
    node.MakeEndedPod("u1");
    node.Start();
    node.CompleteViews();
    const Report report = node.Run();
    EXPECT_TRUE(node.runtime.Containers().empty());
    EXPECT_TRUE(node.Exists(file));
    EXPECT_EQ(std::ranges::count(report.kept, "log " + file + ": not below /var/log/pods"), 1);
  }
}

TEST(Remover, LinksThatCannotBeListedKeepTheirContainer) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.files.Fail(node.config.links_dir, PermissionDenied("no"));
  node.Start();
  node.CompleteViews();
  node.Run();
  EXPECT_EQ(node.runtime.Containers().size(), 1u);
  node.files.Fail(node.config.links_dir, OkStatus());
  node.Run();
  EXPECT_TRUE(node.runtime.Containers().empty());
  EXPECT_FALSE(node.files.ReadSymlink(node.link).ok());
}

TEST(Remover, APodWithoutADirectoryOfLinksGoes) {
  TestNode node;
  node.MakeEndedPod("u1");
  ASSERT_TRUE(node.files.RemoveTree(node.config.links_dir).ok());
  node.Start();
  node.CompleteViews();
  node.Run();
  EXPECT_TRUE(node.runtime.Containers().empty());
}

TEST(Remover, ALinkThatDoesNotPointBelowTheLogsStays) {
  TestNode node;
  ASSERT_TRUE(node.files.MakeDirs(node.config.links_dir, 0755).ok());
  const std::string link = node.config.links_dir + "/web_default_app-0123456789ab.log";
  ASSERT_TRUE(node.files.MakeSymlink("/var/log/pods/../../etc/x", link).ok());
  node.Start();
  node.CompleteViews();
  node.Run();
  EXPECT_TRUE(node.files.ReadSymlink(link).ok());
}

}  // namespace
}  // namespace splitlet::gc
