#include "services/pod-worker/user_namespaces/user_ids.h"

#include <gtest/gtest.h>

#include <set>

#include "libs/fs/fake_file_system.h"

namespace splitlet::pod_worker {
namespace {

constexpr const char* kUser = "root:x:0:0::/:/bin/sh\nkubelet:x:997:997::/:/bin/false\n";
const struct {
  const char *name, *passwd, *subuid, *subgid;
  IdNeed need;
  const char* want;
} kPools[] = {
    {"without the user all but the host's own",
     "root:x:0:0::/:/bin/sh\n",
     "",
     "",
     {},
     "65536+65535*65536"},
    {"ids of other users are theirs",
     "",
     "bob:100000:65536\n",
     "bob:100000:65536\n",
     {},
     "65536+65535*65536"},
    {"a name that only begins so",
     "kubelet2:x:1:1::/:/bin/sh\n",
     "kubelet2:65536:65536\n",
     "",
     {},
     "65536+65535*65536"},
    {"longer ranges", "", "", "", {131072, 110}, "131072+32767*131072"},
    {"a length that leaves a rest", "", "", "", {196608, 110}, "196608+21844*196608"},
    {"the user's",
     kUser,
     "bob:1:2\nkubelet:131072:65536000\n",
     "kubelet:131072:65536000",
     {},
     "131072+1000*65536"},
    {"as many as pods",
     kUser,
     "kubelet:65536:7208960\n",
     "kubelet:65536:7208960\n",
     {},
     "65536+110*65536"},
    {"fewer than pods",
     kUser,
     "kubelet:65536:7143424\n",
     "kubelet:65536:7143424\n",
     {},
     "kubelet user assigned IDs are not enough to support 110 pods"},
    {"a user without ids",
     kUser,
     "bob:65536:65536\n",
     "",
     {},
     "users: /etc/subuid has 0 lines for user kubelet, not one"},
    {"two ranges",
     kUser,
     "kubelet:65536:65536\nkubelet:655360:65536\n",
     "",
     {},
     "users: /etc/subuid has 2 lines for user kubelet, not one"},
    {"groups are others",
     kUser,
     "kubelet:65536:7208960\n",
     "kubelet:131072:7208960\n",
     {},
     "mismatched subuids and subgids for user kubelet"},
    {"no number",
     kUser,
     "kubelet:65536:many\n",
     "kubelet:65536:many\n",
     {},
     "users: /etc/subuid: the line for user kubelet is not kubelet:first:count"},
    {"above 32 bits",
     kUser,
     "kubelet:4294967296:65536\n",
     "",
     {},
     "users: /etc/subuid: the line for user kubelet is not kubelet:first:count"},
    {"a field too few",
     kUser,
     "kubelet:65536\n",
     "",
     {},
     "users: /etc/subuid: the line for user kubelet is not kubelet:first:count"},
    {"a first id between",
     kUser,
     "kubelet:100000:7208960\n",
     "kubelet:100000:7208960\n",
     {},
     "kubelet user assigned ID 100000 is not a multiple of 65536"},
    {"the host's own",
     kUser,
     "kubelet:0:7208960\n",
     "kubelet:0:7208960\n",
     {},
     "kubelet user assigned ID 0 must be greater or equal to 65536"},
    {"a length between",
     kUser,
     "kubelet:65536:7208961\n",
     "kubelet:65536:7208961\n",
     {},
     "kubelet user assigned IDs length 7208961 is not a multiple of 65536"},
    {"an end above all ids",
     kUser,
     "kubelet:4294901760:7208960\n",
     "kubelet:4294901760:7208960\n",
     {},
     "kubelet user assigned IDs end above 4294967295"},
    {"one pod has them all",
     "",
     "",
     "",
     {4294901760, 110},
     "kubelet user assigned IDs are not enough to support 110 pods"},
};

TEST(IdPool, IsWhatTheNodeHasForTheKubelet) {
  for (const auto& c : kPools) {
    SCOPED_TRACE(c.name);
    FakeClock clock;
    fs::FakeFileSystem files(clock);
    for (const auto& [path, text] :
         {std::pair{"/etc/passwd", c.passwd}, std::pair{"/etc/subuid", c.subuid},
          std::pair{"/etc/subgid", c.subgid}})
      if (*text != '\0') {
        EXPECT_EQ(files.Replace(path, text, {}), OkStatus());
      }
    const auto pool = ReadIdPool(files, c.need);
    std::string got = pool.ok()
                          ? fmt::format("{}+{}*{}", pool->first, pool->ranges, pool->ids_per_pod)
                          : Message(pool.status());
    if (const std::string above = "ids of this node: "; got.starts_with(above))
      got = got.substr(above.size());
    EXPECT_EQ(got, c.want);
  }
}

constexpr IdPool kThree{65536, 65536, 3};

TEST(UserIdRanges, EachPodHasItsOwnUntilItIsReleased) {
  UserIdRanges ranges(kThree);
  EXPECT_EQ(*ranges.Give("a"), (UserIds{65536, 65536}));
  EXPECT_EQ(*ranges.Give("b"), (UserIds{131072, 65536}));
  EXPECT_EQ(*ranges.Give("a"), (UserIds{65536, 65536})) << "the same again";
  ranges.Release("a");
  EXPECT_EQ(*ranges.Give("c"), (UserIds{196608, 65536})) << "what came free is given last";
  EXPECT_EQ(*ranges.Give("d"), (UserIds{65536, 65536}));
  EXPECT_EQ(Message(ranges.Give("e").status()),
            "could not find an empty slot to allocate a user namespace");
  ranges.Release("nobody");
  ranges.Release("b");
  EXPECT_EQ(*ranges.Give("e"), (UserIds{131072, 65536}));
}

TEST(UserIdRanges, WhatTheFilesSayIsGivenToNobodyElse) {
  const struct {
    const char* name;
    UserIds found, want;
  } kCases[] = {
      {"the first", {65536, 65536}, {131072, 65536}},
      {"the last", {196608, 65536}, {65536, 65536}},
      {"of longer ranges, before another configuration", {131072, 131072}, {65536, 65536}},
      {"of shorter ones", {65536 + 100, 50}, {131072, 65536}},
      {"up to the last id of the next", {1, 131071}, {131072, 65536}},
      {"outside of the pool", {1u << 31, 65536}, {65536, 65536}},
      {"the host's own", {0, 65536}, {65536, 65536}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    UserIdRanges ranges(kThree);
    ranges.Restore("old", c.found);
    EXPECT_EQ(*ranges.Give("old"), c.found);
    EXPECT_EQ(*ranges.Give("new"), c.want);
  }
}

TEST(UserIdRanges, ANodeWithoutIdsSaysWhy) {
  UserIdRanges ranges(FailedPrecondition("no ids"));
  ranges.Restore("old", {65536, 65536});
  EXPECT_TRUE(ranges.Give("old").ok());
  EXPECT_EQ(Message(ranges.Give("new").status()), "ids: no ids");
}

}  // namespace
}  // namespace splitlet::pod_worker
