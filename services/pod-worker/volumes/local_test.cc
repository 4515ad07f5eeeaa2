#include "services/pod-worker/volumes/local.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/volume.pb.h"
#include "libs/base/fail_point.h"
#include "libs/fs/fake_mounts.h"
#include "libs/fs/fake_ownership.h"
#include "libs/fs/mount_table.h"
#include "libs/fs/path.h"
#include "libs/fs/real_file_system.h"
#include "services/pod-worker/objects/object_set.h"
#include "services/pod-worker/volumes/volumes_fixture.h"

namespace splitlet::pod_worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string PlaceOf(const std::string& uid) {
  return "/kubelet/pods/" + uid + "/volumes/kubernetes.io~local-volume/disk";
}

class Local : public testing::Test {
 protected:
  Local() {
    EXPECT_TRUE(files_.MakeDirs("/srv/disk", 0755).ok());
    EXPECT_TRUE(files_.Replace("/srv/disk/data", "1", {}).ok());
    for (const char* uid : {"a", "b"})
      EXPECT_TRUE(files_.MakeDirs(fs::ParentOf(PlaceOf(uid)), 0750).ok());
  }
  ~Local() override { FailPoints::SetCurrent(nullptr); }

  struct Wish {
    std::string uid = "a";
    int64_t group = 0;  // 0: none
    std::vector<std::string> options = {};
    std::string directory = "/srv/disk";
    std::string change = {};  // the policy
    bool read_only = false;   // the claim
  };
  Status SetUpOne(const Wish& wish) {
    kube::Pod pod;
    if (wish.group != 0) pod.mutable_spec()->mutable_security_context()->set_fs_group(wish.group);
    if (!wish.change.empty())
      pod.mutable_spec()->mutable_security_context()->set_fs_group_change_policy(wish.change);
    const kube::Volume claimed = ClaimOf(wish.read_only);
    const auto spec = BehindClaim(fmt::format("local: {{path: {}}}, mountOptions: [{}]",
                                              wish.directory, fmt::join(wish.options, ",")),
                                  claimed);
    EXPECT_TRUE(plugin_.Takes(spec));
    const Status done =
        plugin_.SetUp(spec, {pod, nullptr, true, warn_}, PlaceFor(wish.uid)).status();
    ShowMounts();
    return done;
  }
  static VolumePlace PlaceFor(const std::string& uid) {
    return {.path = PlaceOf(uid), .pod_uid = uid};
  }
  Status TearDownOne(const std::string& uid) {
    const Status done = plugin_.TearDown({PlaceOf(uid)}).status();
    ShowMounts();
    return done;
  }
  /// Writes the kernel's list of mounts.
  void ShowMounts() {
    std::string table = "21 1 0:20 / /proc rw - proc proc rw\n";
    for (const auto& [path, mount] : mounts_.mounted())
      table += fmt::format("40 1 8:1 {} {} rw - ext4 /dev/sda1 rw\n", mount.options, path);
    ASSERT_TRUE(files_.Replace(fs::kMountTable, table, {}).ok());
  }
  /// "0": not given to a group.
  uint32_t GroupOfDisk() {
    const auto access = ownership_.AccessOf("/srv/disk");
    return access ? access->group : 0;
  }
  bool IsThere(const std::string& path) { return files_.Stat(path, false).ok(); }

  FakeClock clock_;
  fs::FakeFileSystem files_{clock_};
  fs::FakeMounts mounts_{files_};
  fs::FakeOwnership ownership_{files_};
  FakeLogSink sink_;
  const Log log_{sink_};
  VolumeDirs dirs_{{files_, mounts_, ownership_, log_}};
  std::vector<std::string> ran_;
  const process::ProgramRunner run_ = [this](const process::Program& program) {
    ran_.push_back(fmt::format("{}", fmt::join(program.argv, " ")));
    return StatusOr<std::string>(std::string());
  };
  StatusOr<fs::OfGroup> of_group_ = fs::OfGroup{};
  const fs::GroupReader group_of_ = [this](const std::string&) { return of_group_; };
  std::vector<std::string> warnings_;  // "<reason>: <message>"
  const WarnPod warn_ = [this](const char* reason, const std::string& message) {
    warnings_.push_back(std::string(reason) + ": " + message);
  };
  LocalVolume plugin_{{files_, mounts_, dirs_, run_, group_of_, clock_}};
};

TEST_F(Local, AWalkThatLastsIsToldAfterHalfAMinuteAndEachMinute) {
  constexpr const char* kLong =
      "VolumePermissionChangeInProgress: Setting volume ownership for "
      "a/volumes/kubernetes.io~local-volume/disk is taking longer than expected, consider using "
      "OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/"
      "#configure-volume-permission-and-ownership-change-policy-for-pods";
  const auto after = [](int entries) {
    return fmt::format(
        "VolumePermissionChangeInProgress: Setting volume ownership for "
        "a/volumes/kubernetes.io~local-volume/disk, processed {} files.",
        entries);
  };
  for (int i = 0; i < 18; ++i)
    ASSERT_TRUE(files_.Replace(fmt::format("/srv/disk/f{}", i), "1", {}).ok());
  const struct {
    Duration each;  // of the 20 entries
    std::vector<std::string> want;
  } kCases[] = {
      {1s, {}},
      {2s, {kLong}},
      {10s, {kLong, after(9), after(15)}},
      {40s,
       {kLong, after(3), after(5), after(7), after(9), after(11), after(13), after(15), after(17),
        after(19)}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.want.size());
    warnings_.clear();
    ownership_.SetOnEach([this, &c] { clock_.Advance(c.each); });
    ASSERT_TRUE(SetUpOne({.group = 2000}).ok());
    EXPECT_EQ(warnings_, c.want);
    ASSERT_TRUE(TearDownOne("a").ok());
  }
}

TEST_F(Local, IsBoundIntoThePodAndOutlivesIt) {
  ASSERT_TRUE(SetUpOne({}).ok());
  ASSERT_TRUE(SetUpOne({}).ok()) << "again";
  ASSERT_EQ(mounts_.mounted().size(), 1u);
  EXPECT_EQ(mounts_.mounted().at(PlaceOf("a")).type, "bind");
  EXPECT_EQ(mounts_.mounted().at(PlaceOf("a")).options, "/srv/disk");
  EXPECT_EQ(GroupOfDisk(), 0u);
  EXPECT_THAT(ran_, IsEmpty());
  ASSERT_TRUE(TearDownOne("a").ok());
  EXPECT_THAT(mounts_.mounted(), IsEmpty());
  EXPECT_FALSE(IsThere(PlaceOf("a")));
  EXPECT_TRUE(IsThere("/srv/disk/data"));
  EXPECT_TRUE(TearDownOne("a").ok()) << "again";
}

TEST(CheckLocal, OnlyADirectoryCanBeAVolume) {
  using Kind = fs::FileInfo::Kind;
  const struct {
    const char *name, *path;
    StatusOr<fs::FileInfo> there;
    std::string want;
    std::optional<VolumeStep> step = VolumeStep::kMakeMounter;
  } kCases[] = {
      {"a directory", "/srv/disk", fs::FileInfo{.kind = Kind::kDirectory}, "", {}},
      {"nothing", "/srv/disk", NotFound("No such file or directory"),
       "path \"/srv/disk\" does not exist"},
      {"a path that cannot be read", "/srv/disk", PermissionDenied("Permission denied"),
       "/srv/disk: Permission denied"},
      {"a file", "/srv/disk", fs::FileInfo{.kind = Kind::kFile},
       "only directory and block device are supported"},
      {"a character device", "/dev/null", fs::FileInfo{.kind = Kind::kCharDevice},
       "only directory and block device are supported"},
      {"a block device is not formatted", "/dev/sdb", fs::FileInfo{.kind = Kind::kBlockDevice},
       "block device /dev/sdb is neither formatted nor mounted here: mount it on the host "
       "and name the directory"},
      {"a path that leads up",
       "/srv/../etc",
       fs::FileInfo{.kind = Kind::kDirectory},
       "invalid path: /srv/../etc must not contain '..'",
       {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const SetUpResult checked = CheckLocal(c.path, c.there);
    EXPECT_EQ(Message(checked.status()), c.want);
    EXPECT_EQ(checked.step(), c.step);
  }
}

TEST_F(Local, WhatCannotBeAVolumeIsNotMounted) {
  for (const char* path : {"/none", "/srv/disk/data", "/srv/../srv/disk"}) {
    EXPECT_FALSE(SetUpOne({.group = 2000, .directory = path}).ok()) << path;
    EXPECT_EQ(GroupOfDisk(), 0u) << path;
  }
  mounts_.FailMount(PermissionDenied("Operation not permitted"));
  EXPECT_THAT(Message(SetUpOne({})), HasSubstr("Operation not permitted"));
  EXPECT_THAT(mounts_.mounted(), IsEmpty());
  EXPECT_TRUE(TearDownOne("a").ok());
}

TEST_F(Local, TheFirstPodGivesItToItsGroup) {
  const struct {
    const char* name;
    std::vector<Wish> pods;
    uint32_t want;
  } kCases[] = {
      {"no group", {{}}, 0},
      {"its own", {{.group = 2000}}, 2000},
      {"a second pod does not change it", {{.group = 2000}, {.uid = "b", .group = 3000}}, 2000},
      {"nor after one without a group", {{}, {.uid = "b", .group = 3000}}, 0},
      {"not what is only read", {{.group = 2000, .options = {"ro"}}}, 0},
      {"nor by a claim that only reads", {{.group = 2000, .read_only = true}}, 0},
      {"with other options", {{.group = 2000, .options = {"noatime"}}}, 2000},
  };
  uint32_t at = 0;
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    ASSERT_TRUE(files_.Rename("/srv/disk", fmt::format("/srv/old-{}", ++at)).ok());
    ASSERT_TRUE(files_.MakeDirs("/srv/disk", 0755).ok());
    for (const auto& pod : c.pods) ASSERT_TRUE(SetUpOne(pod).ok());
    EXPECT_EQ(GroupOfDisk(), c.want);
    for (const auto& pod : c.pods) ASSERT_TRUE(TearDownOne(pod.uid).ok());
  }
}

TEST_F(Local, TheNextPodAfterTheLastHasItsOwnGroup) {
  ASSERT_TRUE(SetUpOne({.group = 2000}).ok());
  ASSERT_TRUE(TearDownOne("a").ok());
  ASSERT_TRUE(SetUpOne({.uid = "b", .group = 3000}).ok());
  EXPECT_EQ(GroupOfDisk(), 3000u);
}

TEST_F(Local, OnRootMismatchGivesWhatIsNotGivenYet) {
  const struct {
    const char *name, *change;
    StatusOr<fs::OfGroup> is;
    bool given;
  } kCases[] = {
      {"it has all", "OnRootMismatch", fs::OfGroup{2000, 02770}, false},
      {"and more", "OnRootMismatch", fs::OfGroup{2000, 02777}, false},
      {"another group", "OnRootMismatch", fs::OfGroup{3000, 02770}, true},
      {"the group may not write", "OnRootMismatch", fs::OfGroup{2000, 02750}, true},
      {"it does not hand the group on", "OnRootMismatch", fs::OfGroup{2000, 0770}, true},
      {"its group cannot be read", "OnRootMismatch", PermissionDenied("no"), true},
      {"whatever it has", "Always", fs::OfGroup{2000, 02770}, true},
      {"no policy", "", fs::OfGroup{2000, 02770}, true},
  };
  uint32_t at = 0;
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    ASSERT_TRUE(files_.Rename("/srv/disk", fmt::format("/srv/old-{}", ++at)).ok());
    ASSERT_TRUE(files_.MakeDirs("/srv/disk", 0755).ok());
    of_group_ = c.is;
    ASSERT_TRUE(SetUpOne({.group = 2000, .change = c.change}).ok());
    EXPECT_EQ(GroupOfDisk(), c.given ? 2000u : 0u);
    ASSERT_TRUE(TearDownOne("a").ok());
  }
}

/// On a real disk, without a mount.
TEST_F(Local, ALinkIsWhatItLeadsTo) {
  fs::RealFileSystem real;
  fs::RealOwnership ownership;
  const std::string dir = testing::TempDir() + "local-links";
  ASSERT_TRUE(real.RemoveTree(dir).ok());
  ASSERT_TRUE(real.MakeDirs(dir + "/disk", 0700).ok());
  ASSERT_TRUE(real.Replace(dir + "/disk/data", "1", {.mode = 0600}).ok());
  ASSERT_TRUE(real.MakeSymlink("disk", dir + "/link").ok());
  VolumeDirs dirs({real, mounts_, ownership, log_});
  LocalVolume plugin({real, mounts_, dirs, run_, group_of_, clock_});
  mounts_.FailMount(PermissionDenied("Operation not permitted"));
  const auto own = fs::GroupOf(dir);
  ASSERT_TRUE(own.ok()) << own.status();
  kube::Pod pod;
  pod.mutable_spec()->mutable_security_context()->set_fs_group(own->group);
  const kube::Volume claimed = ClaimOf();
  const auto spec = BehindClaim("local: {path: " + dir + "/link}", claimed);
  EXPECT_FALSE(plugin.SetUp(spec, {pod, nullptr, true}, {PlaceOf("a")}).ok());
  EXPECT_EQ(fs::GroupOf(dir + "/disk").value_or(fs::OfGroup{}).mode, 02770u);
  EXPECT_EQ(fs::GroupOf(dir + "/disk/data").value_or(fs::OfGroup{}).mode, 0660u);
  ASSERT_TRUE(real.RemoveTree(dir).ok());
}

TEST_F(Local, MountOptionsAreSetWhenItIsBound) {
  ASSERT_TRUE(SetUpOne({.options = {"noatime", "ro"}}).ok());
  EXPECT_THAT(ran_, ElementsAre("mount -o remount,bind,noatime,ro " + PlaceOf("a")));
  ASSERT_TRUE(SetUpOne({.options = {"noatime", "ro"}}).ok());
  EXPECT_EQ(ran_.size(), 2u) << "a process of before may have died between the two";
  ASSERT_TRUE(SetUpOne({.options = {"noatime"}, .read_only = true}).ok());
  EXPECT_EQ(ran_.back(), "mount -o remount,bind,noatime,ro " + PlaceOf("a"));
  const process::ProgramRunner none;
  LocalVolume plain({files_, mounts_, dirs_, none, group_of_, clock_});
  const kube::Pod pod;
  const kube::Volume claimed = ClaimOf(true);
  EXPECT_EQ(Message(plain
                        .SetUp(BehindClaim("local: {path: /srv/disk}", claimed),
                               {pod, nullptr, true}, {PlaceOf("a")})
                        .status()),
            "mount options need mount(8)");
}

TEST_F(Local, OneThatIsBusyStays) {
  ASSERT_TRUE(SetUpOne({}).ok());
  mounts_.FailUnmount(ErrnoStatus(EBUSY));
  EXPECT_FALSE(TearDownOne("a").ok());
  EXPECT_TRUE(IsThere(PlaceOf("a")));
  mounts_.FailUnmount(OkStatus());
  EXPECT_TRUE(TearDownOne("a").ok());
}

/// A mount point whose mount failed or is gone may hold files of others: nothing below it is
/// removed.
TEST_F(Local, WhatLiesInItsPlaceIsNeverRemoved) {
  ASSERT_TRUE(files_.MakeDirs(PlaceOf("a"), 0750).ok());
  ASSERT_TRUE(files_.Replace(PlaceOf("a") + "/data", "1", {}).ok());
  EXPECT_FALSE(TearDownOne("a").ok());
  EXPECT_TRUE(IsThere(PlaceOf("a") + "/data"));
}

TEST_F(Local, KilledAnywhereTheNextStartGoesOn) {
  for (const char* point : {"pod-worker.bind-local.before", "pod-worker.bind-local.after",
                            "pod-worker.unbind-local.before", "pod-worker.unbind-local.after"}) {
    SCOPED_TRACE(point);
    FailPoints points({[] {}, [](int64_t) {}});
    FailPoints::SetCurrent(&points);
    ASSERT_TRUE(points.Set(point, "1*return(aborted)->off").ok());
    const bool made = SetUpOne({.group = 2000}).ok();
    if (!made) {
      ASSERT_TRUE(SetUpOne({.group = 2000}).ok());
    }
    EXPECT_EQ(mounts_.mounted().size(), 1u);
    EXPECT_EQ(GroupOfDisk(), 2000u);
    const bool gone = TearDownOne("a").ok();
    EXPECT_NE(made, gone) << "the point was passed once";
    EXPECT_TRUE(TearDownOne("a").ok());
    EXPECT_THAT(mounts_.mounted(), IsEmpty());
    EXPECT_FALSE(IsThere(PlaceOf("a")));
    EXPECT_TRUE(IsThere("/srv/disk/data"));
    FailPoints::SetCurrent(nullptr);
  }
}

/// Killed anywhere: a bound directory belongs to the group.
TEST_F(Local, KilledBetweenAnyTwoStepsItHasItsGroupWhenItIsBound) {
  bool killed = true;
  for (int step = 1; killed; ++step) {
    int left = step;
    killed = false;
    files_.SetHook([&](std::string_view, const std::string& path) {
      if (path == fs::kMountTable) return OkStatus();
      killed = killed || --left == 0;
      return killed ? Cancelled("killed") : OkStatus();
    });
    SetUpOne({.group = 2000}).IgnoreError();
    files_.SetHook(nullptr);
    if (mounts_.mounted().size() == 1) {
      EXPECT_EQ(GroupOfDisk(), 2000u) << step;
    }
    ASSERT_TRUE(SetUpOne({.group = 2000}).ok()) << step;
    EXPECT_EQ(mounts_.mounted().size(), 1u) << step;
    ASSERT_TRUE(TearDownOne("a").ok());
    EXPECT_THAT(mounts_.mounted(), IsEmpty());
  }
}

TEST(VolumesOfOtherGroups, AreToldBeforeTheyAreMounted) {
  const std::string disk = "the volume disk has GID 2000. The volume may not be shareable.",
                    other = PlaceOf("b"), own = PlaceOf("a");
  const struct {
    const char* name;
    std::vector<std::string> mounted;
    int64_t group;
    std::string source, want;
  } kCases[] = {
      {"no other pod has it", {}, 3000, "local", ""},
      {"another pod has it with another group",
       {other},
       3000,
       "local",
       "The requested fsGroup is 3000, but " + disk},
      {"below another root directory",
       {"/old/pods/b/volumes/kubernetes.io~local-volume/disk"},
       3000,
       "local",
       "The requested fsGroup is 3000, but " + disk},
      {"with the same group", {other}, 2000, "local", ""},
      {"this pod asks for none", {other}, 0, "local", ""},
      {"this pod has it already", {other, own}, 3000, "local", ""},
      {"another volume",
       {"/kubelet/pods/b/volumes/kubernetes.io~local-volume/other"},
       3000,
       "local",
       ""},
      {"of another kind", {"/kubelet/pods/b/volumes/kubernetes.io~nfs/disk"}, 3000, "local", ""},
      {"this one is of another kind", {other}, 3000, "hostPath", ""},
  };
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    auto objects = ReadObjects(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {" + c.source +
            ": {path: /srv/disk}}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\n"
            "metadata: {name: data}\nspec: {volumeName: disk}\n",
        "f.yaml");
    ASSERT_TRUE(objects.ok()) << objects.status();
    objects->BindClaims();
    auto pod = PodWithVolumes(
        "[{name: v, persistentVolumeClaim: {claimName: data}}, {name: w, persistentVolumeClaim: "
        "{claimName: data}}]",
        {"v"});
    if (c.group != 0) pod.mutable_spec()->mutable_security_context()->set_fs_group(c.group);
    std::string table;
    for (const auto& path : c.mounted)
      table += fmt::format("40 1 8:1 /srv/disk {} rw - ext4 /dev/sda1 rw\n", path);
    ASSERT_TRUE(files.Replace(fs::kMountTable, table, {}).ok());
    const auto group_of = [](const std::string& path) -> StatusOr<fs::OfGroup> {
      if (path != "/srv/disk") return NotFound("{}", path);
      return fs::OfGroup{2000, 02770};
    };
    const auto texts = VolumesOfOtherGroups({pod, &*objects}, {files, group_of, "/kubelet/pods/a"});
    EXPECT_EQ(fmt::format("{}", fmt::join(texts, "; ")), c.want);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
