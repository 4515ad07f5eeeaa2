#include "services/pod-worker/api_objects/api_cache.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/persistent_volume_claim.pb.h"
#include "k8s.io/api/core/v1/service.pb.h"
#include "k8s.io/api/node/v1/runtime_class.pb.h"
#include "libs/exec/fake_exec.h"
#include "services/pod-worker/api_objects/api_fixture.h"
#include "services/pod-worker/volumes/volumes_fixture.h"

namespace splitlet::pod_worker {
namespace {

class ApiCacheTest : public testing::Test {
 protected:
  void Use(ChangeDetection strategy) {
    cache_.reset();
    cache_ = std::make_unique<ApiCache>(
        ApiContext{clock_, loop_, strands_, api_, random_, Log(sink_)}, strategy);
    cache_->Start([this](const std::string& uid) { changed_.push_back(uid); });
    loop_.RunUntilIdle();
    changed_.clear();
    api_.TakeSeen();
  }
  void SetUp() override { Use(ChangeDetection::kWatch); }

  static kube::Pod PodThatNames(const std::string& volumes, const std::string& uid = "uid-web") {
    auto pod = PodWithVolumes(volumes, {});
    pod.mutable_metadata()->set_uid(uid);
    return pod;
  }
  static kube::Pod PodOfMap(const std::string& name, const std::string& uid = "uid-web") {
    return PodThatNames("[{name: v, configMap: {name: " + name + "}}]", uid);
  }
  /// As before a sync. Returns how long the sync has to wait.
  Duration Prepare(const std::string& uid = "uid-web", bool is_new = true) {
    const Duration wait = cache_->Prepare(uid, is_new);
    loop_.RunUntilIdle();
    return wait;
  }
  void Hold(const kube::Pod& pod, int64_t order = 1) {
    cache_->Hold(pod, order);
    Prepare(pod.metadata().uid());
  }
  std::string ValueOf(const std::string& name, const std::string& uid = "uid-web") {
    const auto found = cache_->View(uid)->GetConfigMap({"default", name});
    return found.ok() ? (*found)->data().at("K") : std::string(ToString(found.status()));
  }
  void Put(const std::string& name, const std::string& value) {
    PutConfigMap(api_, name, value);
    loop_.RunUntilIdle();
  }
  std::vector<std::string> TakeChanged() { return std::exchange(changed_, {}); }

  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  exec::FakeStrands strands_{loop_};
  fake_api::FakeApiServer api_{clock_, {.loop = &loop_}};
  Random random_{1};
  FakeLogSink sink_;
  std::unique_ptr<ApiCache> cache_;
  std::vector<std::string> changed_;
};

const std::vector<std::string> kWeb{"uid-web"};

TEST_F(ApiCacheTest, AConfigMapComesChangesAndGoes) {
  cache_->Hold(PodOfMap("m"), 1);
  EXPECT_EQ(ValueOf("m"),
            "failed to sync configmap cache: timed out waiting for the condition (UNAVAILABLE)");
  EXPECT_EQ(Prepare(), ApiCache::kWait);
  EXPECT_EQ(TakeChanged(), kWeb) << "it waits for the first answer";
  EXPECT_EQ(Prepare(), Duration{0});
  EXPECT_EQ(ValueOf("m"), "configmap \"m\" not found (NOT_FOUND)");
  Put("m", "one");
  EXPECT_EQ(TakeChanged(), kWeb);
  EXPECT_EQ(ValueOf("m"), "one");
  const auto before = cache_->View("uid-web");
  Put("m", "two");
  EXPECT_EQ(TakeChanged(), kWeb);
  EXPECT_EQ(ValueOf("m"), "two");
  EXPECT_EQ((*before->GetConfigMap({"default", "m"}))->data().at("K"), "one") << "a view stays";
  api_.Remove(PathOf("configmaps", "m"));
  loop_.RunUntilIdle();
  EXPECT_EQ(TakeChanged(), kWeb);
  EXPECT_EQ(ValueOf("m"), "configmap \"m\" not found (NOT_FOUND)");
}

TEST_F(ApiCacheTest, OnlyWhatIsNamedIsAskedForAndOnce) {
  PutConfigMap(api_, "m", "one");
  PutConfigMap(api_, "other", "two");
  Hold(PodOfMap("m", "uid-a"));
  Hold(PodOfMap("m", "uid-b"));
  EXPECT_EQ(TakeCount(api_, "GET", "/api/v1/namespaces/default/configmaps?"), 2)
      << "a list and a watch";
  EXPECT_EQ(ValueOf("m", "uid-b"), "one");
  EXPECT_EQ(ToString(cache_->View("uid-b")->GetConfigMap({"default", "other"}).status()),
            "object \"default\"/\"other\" not registered (UNAVAILABLE)");
  TakeChanged();
  Put("other", "three");
  EXPECT_TRUE(TakeChanged().empty());
  Put("m", "two");
  EXPECT_EQ(TakeChanged(), (std::vector<std::string>{"uid-a", "uid-b"}));
}

TEST_F(ApiCacheTest, WhatNobodyNamesAnyMoreIsForgotten) {
  PutConfigMap(api_, "m", "one");
  Hold(PodOfMap("m", "uid-a"));
  Hold(PodOfMap("m", "uid-b"));
  cache_->Release("uid-a");
  Put("m", "two");
  EXPECT_EQ(ValueOf("m", "uid-b"), "two");
  cache_->Release("uid-b");
  api_.TakeSeen();
  TakeChanged();
  Put("m", "three");
  EXPECT_TRUE(TakeChanged().empty());
  loop_.Advance(20min);
  EXPECT_EQ(TakeCount(api_, "GET", "/api/v1/namespaces/default/configmaps"), 0);
}

/// Otherwise the object would be unknown for a moment, and a container would wait.
TEST_F(ApiCacheTest, AnEditOfThePodKeepsWhatItNamesStill) {
  PutConfigMap(api_, "m", "one");
  Hold(PodOfMap("m"));
  api_.TakeSeen();
  cache_->Hold(
      PodThatNames("[{name: v, configMap: {name: m}}, {name: w, configMap: {name: next}}]"), 1);
  EXPECT_EQ(ValueOf("m"), "one");
  loop_.RunUntilIdle();
  EXPECT_EQ(TakeCount(api_, "GET", "/api/v1/namespaces/default/configmaps?"), 2);
}

TEST_F(ApiCacheTest, AnImmutableObjectIsNotWatchedOn) {
  PutSecret(api_, "s", "b25l", true);
  Hold(PodThatNames("[{name: v, secret: {secretName: s}}]"));
  loop_.RunUntilIdle();
  api_.TakeSeen();
  api_.EndWatches();
  loop_.Advance(20min);
  EXPECT_EQ(TakeCount(api_, "GET", "/api/v1/namespaces/default/secrets"), 0);
  const auto secret = cache_->View("uid-web")->GetSecret({"default", "s"});
  ASSERT_TRUE(secret.ok()) << secret.status();
  EXPECT_EQ((*secret)->data().at("K"), "one");
  cache_->Release("uid-web");
  Hold(PodThatNames("[{name: v, secret: {secretName: s}}]"));
  EXPECT_GT(TakeCount(api_, "GET", "/api/v1/namespaces/default/secrets"), 0)
      << "it went with its pod";
}

TEST_F(ApiCacheTest, WhileTheServerIsAwayWhatIsKnownStays) {
  PutConfigMap(api_, "m", "one");
  Hold(PodOfMap("m"));
  api_.SetAway(true);
  loop_.Advance(1min);
  EXPECT_EQ(ValueOf("m"), "one");
  EXPECT_EQ(Prepare(), Duration{0}) << "a container that starts again does not wait";
  cache_->Hold(PodOfMap("next", "uid-new"), 2);
  Prepare("uid-new");
  loop_.Advance(5s);
  EXPECT_EQ(Prepare("uid-new"), Duration{0});
  EXPECT_TRUE(ValueOf("next", "uid-new").starts_with("failed to sync configmap cache: "));
  EXPECT_TRUE(ValueOf("next", "uid-new").ends_with("(UNAVAILABLE)"));
  PutConfigMap(api_, "m", "two");
  PutConfigMap(api_, "next", "new");
  api_.SetAway(false);
  loop_.Advance(1min);
  EXPECT_EQ(ValueOf("m") + ValueOf("next", "uid-new"), "twonew");
}

TEST_F(ApiCacheTest, ASyncWaitsForAnswersThatDoNotComeASecond) {
  api_.Inject({.prefix = "/api/v1/namespaces/default/configmaps", .hang = true});
  cache_->Hold(PodOfMap("m"), 1);
  EXPECT_EQ(Prepare(), 1s);
  loop_.Advance(400ms);
  EXPECT_EQ(Prepare(), 600ms);
  loop_.Advance(600ms);
  EXPECT_EQ(Prepare(), Duration{0});
}

TEST_F(ApiCacheTest, ATokenIsWaitedForLongerThanTheRestByAPodOfWhichNothingRuns) {
  api_.Inject({.prefix = "/api/v1/namespaces/default/serviceaccounts", .hang = true});
  auto pod = PodThatNames(
      "[{name: v, projected: {sources: [{serviceAccountToken: {path: token}},"
      " {configMap: {name: m, optional: true}}]}}]");
  pod.mutable_spec()->set_service_account_name("default");
  cache_->Hold(pod, 1);
  EXPECT_EQ(Prepare(), 10s);
  loop_.Advance(9s);
  EXPECT_EQ(Prepare(), 1s);
  loop_.Advance(1s);
  EXPECT_EQ(Prepare(), Duration{0});
  pod.mutable_metadata()->set_uid("uid-old");
  cache_->Hold(pod, 2);
  EXPECT_EQ(Prepare("uid-old", false), 1s) << "it goes on soon with the one it has";
}

TEST_F(ApiCacheTest, ANewPodWaitsLongerForTheFirstListOfServicesAndOfItsRuntimeClass) {
  const struct {
    const char *name, *path, *runtime_class;
    Duration wait;
  } kCases[] = {
      {"services", "/api/v1/services", "", 10s},
      {"runtime classes, and the pod names one", "/apis/node.k8s.io/v1/runtimeclasses", "vm", 10s},
      {"runtime classes, and the pod names none", "/apis/node.k8s.io/v1/runtimeclasses", "", 0s},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    api_.Inject({.prefix = c.path, .hang = true});
    Use(ChangeDetection::kWatch);
    auto pod = PodThatNames("[]");
    pod.mutable_spec()->set_runtime_class_name(c.runtime_class);
    cache_->Hold(pod, 1);
    EXPECT_EQ(Prepare(), c.wait);
    api_.ClearFaults();
    loop_.RunUntilIdle();
    EXPECT_EQ(TakeChanged(), kWeb) << "the answer wakes it";
    EXPECT_EQ(Prepare(), Duration{0});
  }
}

TEST_F(ApiCacheTest, AFirstListIsWaitedForTenSecondsAtMost) {
  api_.Inject({.prefix = "/api/v1/services", .hang = true});
  Use(ChangeDetection::kWatch);
  cache_->Hold(PodThatNames("[]"), 1);
  EXPECT_EQ(Prepare(), 10s);
  loop_.Advance(9s);
  EXPECT_EQ(Prepare(), 1s);
  loop_.Advance(1s);
  EXPECT_EQ(Prepare(), Duration{0});
  cache_->Hold(PodThatNames("[]", "uid-old"), 2);
  EXPECT_EQ(Prepare("uid-old", false), 1s) << "its containers run already";
}

TEST_F(ApiCacheTest, AFirstListThatFailsIsNotWaitedFor) {
  api_.Inject({.prefix = "/api/v1/services", .code = 500});
  Use(ChangeDetection::kWatch);
  cache_->Hold(PodThatNames("[]"), 1);
  EXPECT_EQ(Prepare(), Duration{0});
}

/// As HTTPS while a TLS bootstrap is making the kubeconfig.
class NoKubeconfigYet final : public apiclient::Transport {
 public:
  void Begin(apiclient::Request, Deadline, Done done) override {
    done(Awaited(NotFound("no kubeconfig")));
  }
  void BeginStream(apiclient::Request, Deadline, OnData, Done done) override {
    done(Awaited(NotFound("no kubeconfig")));
  }
};

TEST_F(ApiCacheTest, AFirstListWithoutAKubeconfigThatIsAwaitedIsNoFailure) {
  NoKubeconfigYet transport;
  ApiCache cache(ApiContext{clock_, loop_, strands_, transport, random_, Log(sink_)},
                 ChangeDetection::kWatch);
  cache.Start([](const std::string&) {});
  loop_.RunUntilIdle();
  cache.Hold(PodThatNames("[]"), 1);
  EXPECT_EQ(cache.Prepare("uid-web", true), 10s);
}

TEST_F(ApiCacheTest, AStaticPodWaitsForTheFirstListOfRuntimeClassesAlone) {
  api_.Inject({.prefix = "/api/v1/services", .hang = true});
  Use(ChangeDetection::kWatch);
  cache_->HoldStatic("uid-web");
  EXPECT_EQ(Prepare(), Duration{0});
  api_.Inject({.prefix = "/apis/node.k8s.io/v1/runtimeclasses", .hang = true});
  Use(ChangeDetection::kWatch);
  cache_->HoldStatic("uid-web");
  EXPECT_EQ(Prepare(), 10s);
  api_.ClearFaults();
  loop_.RunUntilIdle();
  EXPECT_FALSE(TakeChanged().empty()) << "the answer wakes it";
  EXPECT_EQ(Prepare(), Duration{0});
}

/// A real server's authorizer learns of a pod after its watchers do.
TEST_F(ApiCacheTest, ARefusalIsToldWhenItLasts) {
  const struct {
    const char* name;
    ChangeDetection strategy;
    int refusals;  // below 0: all
    Duration reported_after;
    const char* value;  // after that time; or the begin of the error
    int requests;       // until then, without watches
  } kCases[] = {
      {"a watch that is refused once", ChangeDetection::kWatch, 1, 200ms, "one", 2},
      {"a watch that is refused for a while", ChangeDetection::kWatch, 4, 800ms, "one", 5},
      {"a watch that stays refused", ChangeDetection::kWatch, -1, 800ms,
       "failed to sync configmap cache: list /api/v1/namespaces/default/configmaps: ", 5},
      {"a read that is refused twice", ChangeDetection::kCache, 2, 400ms, "one", 3},
      {"a read that stays refused", ChangeDetection::kGet, -1, 800ms,
       "failed to sync configmap cache: ", 5},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Use(c.strategy);
    PutConfigMap(api_, "m", "one");
    api_.Inject({.method = "GET",
                 .prefix = "/api/v1/namespaces/default/configmaps",
                 .times = c.refusals,
                 .code = 403});
    Hold(PodOfMap("m"));
    EXPECT_EQ(ValueOf("m"),
              "failed to sync configmap cache: timed out waiting for the condition (UNAVAILABLE)");
    loop_.Advance(c.reported_after - 1ms);
    EXPECT_TRUE(TakeChanged().empty());
    EXPECT_GT(Prepare(), Duration{0}) << "it is waited for";
    loop_.Advance(1ms);
    EXPECT_EQ(TakeChanged(), kWeb);
    EXPECT_EQ(TakeCount(api_, "GET", "/api/v1/namespaces/default/configmaps"), c.requests);
    EXPECT_EQ(Prepare(), Duration{0});
    EXPECT_TRUE(ValueOf("m").starts_with(c.value)) << ValueOf("m");
    api_.ClearFaults();
    loop_.Advance(1min);
    Prepare();
    EXPECT_EQ(ValueOf("m"), "one");
  }
}

TEST_F(ApiCacheTest, WhatWasRefusedIsNotAskedForWhenNobodyNamesItAnyMore) {
  api_.Inject({.prefix = "/api/v1/namespaces/default/configmaps", .code = 403});
  Hold(PodOfMap("m"));
  cache_->Release("uid-web");
  api_.TakeSeen();
  loop_.Advance(1min);
  EXPECT_EQ(TakeCount(api_, "GET", "/api/v1/namespaces/default/configmaps"), 0);
  Hold(PodOfMap("m"));
  cache_.reset();
  loop_.Advance(1min);
}

TEST_F(ApiCacheTest, OnlyARefusalIsEarly) {
  api_.Inject({.prefix = "/api/v1/namespaces/default/configmaps", .code = 500});
  Hold(PodOfMap("m"));
  EXPECT_EQ(TakeChanged(), kWeb) << "reported immediately";
  EXPECT_EQ(Prepare(), Duration{0});
}

TEST_F(ApiCacheTest, WhatIsKnownIsNotForgottenForARefusal) {
  PutConfigMap(api_, "m", "one");
  Hold(PodOfMap("m"));
  api_.Inject({.prefix = "/api/v1/namespaces/default/configmaps", .code = 403});
  api_.EndWatches();
  loop_.Advance(1min);
  EXPECT_EQ(ValueOf("m"), "one");
  EXPECT_EQ(Prepare(), Duration{0});
}

TEST_F(ApiCacheTest, WithStrategyCacheWhatWasReadIsGoodForAMinute) {
  Use(ChangeDetection::kCache);
  PutConfigMap(api_, "m", "one");
  Hold(PodOfMap("m"));
  EXPECT_EQ(ValueOf("m"), "one");
  Put("m", "two");
  loop_.Advance(50s);
  EXPECT_EQ(Prepare(), Duration{0});
  EXPECT_EQ(ValueOf("m"), "one");
  loop_.Advance(10s);
  EXPECT_GT(Prepare(), Duration{0});
  EXPECT_EQ(ValueOf("m"), "two");
  Put("m", "three");
  cache_->Hold(PodOfMap("m", "uid-new"), 2);
  EXPECT_GT(Prepare("uid-new"), Duration{0});
  EXPECT_EQ(ValueOf("m", "uid-new"), "three") << "no older than the pod";
}

TEST_F(ApiCacheTest, WithStrategyGetEachSyncReads) {
  Use(ChangeDetection::kGet);
  PutConfigMap(api_, "m", "one");
  Hold(PodOfMap("m"));
  EXPECT_EQ(ValueOf("m"), "one");
  EXPECT_EQ(Prepare(), Duration{0}) << "the sync that waited for it";
  Put("m", "two");
  loop_.Advance(2s);
  EXPECT_GT(Prepare(), Duration{0});
  EXPECT_EQ(ValueOf("m"), "two");
  api_.SetAway(true);
  loop_.Advance(2s);
  Prepare();
  EXPECT_EQ(ValueOf("m"), "two");
  api_.SetAway(false);
  api_.Remove(PathOf("configmaps", "m"));
  loop_.Advance(2s);
  Prepare();
  EXPECT_EQ(ValueOf("m"), "configmap \"m\" not found (NOT_FOUND)");
}

TEST_F(ApiCacheTest, ServicesOfThePodsNamespaceAndNoMore) {
  const auto names = [this](const std::string& name_space) {
    std::vector<std::string> found;
    const auto services = cache_->View("uid-web")->Services(name_space);
    if (!services.ok()) return std::string(ToString(services.status()));
    for (const auto& service : *services)
      found.push_back(service->metadata().name() + "=" + service->spec().cluster_ip());
    return fmt::format("{}", fmt::join(found, " "));
  };
  const auto put = [this](const std::string& path, const std::string& ip) {
    Service service;
    service.mutable_spec()->set_cluster_ip(ip);
    (*service.mutable_spec()->mutable_selector())["app"] = "x";
    api_.Put(path, service);
  };
  api_.SetAway(true);
  Use(ChangeDetection::kWatch);
  cache_->Hold(PodOfMap("m"), 1);
  EXPECT_EQ(
      names("default"),
      "services have not yet been read at least once, cannot construct envvars (UNAVAILABLE)");
  put("/api/v1/namespaces/default/services/a", "10.0.0.1");
  put("/api/v1/namespaces/default/services/b", "10.0.0.2");
  put("/api/v1/namespaces/kube/services/c", "10.0.0.3");
  api_.SetAway(false);
  loop_.Advance(1min);
  EXPECT_EQ(names("default"), "a=10.0.0.1 b=10.0.0.2");
  EXPECT_FALSE(TakeChanged().empty()) << "pods that lacked services are synced again";
  EXPECT_TRUE((*cache_->View("uid-web")->Services("default"))[0]->spec().selector().empty())
      << "unneeded parts are not held";
  put("/api/v1/namespaces/default/services/b", "10.0.0.9");
  api_.Remove("/api/v1/namespaces/default/services/a");
  loop_.RunUntilIdle();
  EXPECT_EQ(names("default"), "b=10.0.0.9");
}

TEST_F(ApiCacheTest, AStaticPodSeesTheNodesOwnAndWaitsForNothing) {
  Service service;
  service.mutable_spec()->set_cluster_ip("10.0.0.1");
  api_.SetAway(true);
  Use(ChangeDetection::kWatch);
  EXPECT_TRUE(cache_->ViewBeside(nullptr)->Services("default").value().empty());
  api_.Put("/api/v1/namespaces/default/services/a", service);
  api_.SetAway(false);
  loop_.Advance(1min);
  EXPECT_EQ(cache_->ViewBeside(nullptr)->Services("default").value().size(), 1u);
  EXPECT_EQ(cache_->ViewBeside(nullptr)->GetSecret({"default", "s"}).status().code(),
            StatusCode::kNotFound);
}

class Claims : public ApiCacheTest {
 protected:
  static kube::Pod PodOfClaim(const std::string& uid = "uid-web") {
    return PodThatNames("[{name: v, persistentVolumeClaim: {claimName: data}}]", uid);
  }
  void PutClaim(const std::string& phase, const std::string& volume) {
    Claim claim;
    claim.mutable_spec()->set_volume_name(volume);
    claim.mutable_status()->set_phase(phase);
    api_.Put(PathOf("persistentvolumeclaims", "data"), claim);
    EXPECT_TRUE(api_.Get(PathOf("persistentvolumeclaims", "data"), claim));
    claim_uid_ = claim.metadata().uid();
  }
  void PutVolume(const std::string& mode = "ReadWriteOnce") {
    PersistentVolume volume;
    volume.mutable_spec()->mutable_claim_ref()->set_uid(claim_uid_);
    volume.mutable_spec()->add_access_modes(mode);
    api_.Put("/api/v1/persistentvolumes/disk", volume);
  }
  std::string Phase() {
    const auto claim = cache_->View("uid-web")->GetClaim({"default", "data"});
    return claim.ok() ? (*claim)->status().phase() : std::string(ToString(claim.status()));
  }
  std::string claim_uid_;
};

TEST_F(Claims, AreAskedForUntilTheyAreBound) {
  Hold(PodOfClaim());
  EXPECT_TRUE(Phase().ends_with("(NOT_FOUND)")) << Phase();
  PutClaim("Pending", "");
  loop_.Advance(2s);
  TakeChanged();
  Prepare();
  EXPECT_EQ(TakeChanged(), kWeb) << "a change wakes the pod";
  EXPECT_EQ(Phase(), "Pending");
  loop_.Advance(2s);
  Prepare();
  EXPECT_TRUE(TakeChanged().empty()) << "the same as before";
  PutClaim("Bound", "disk");
  PutVolume();
  loop_.Advance(2s);
  Prepare();
  EXPECT_EQ(Phase(), "Bound");
  EXPECT_TRUE(cache_->View("uid-web")->GetPersistentVolume("disk").ok());
  api_.TakeSeen();
  api_.SetAway(true);
  loop_.Advance(2s);
  EXPECT_EQ(Prepare(), Duration{0});
  EXPECT_EQ(Phase(), "Bound");
  EXPECT_EQ(TakeCount(api_, "GET", "/api/v1/namespaces/default/persistentvolumeclaims"), 0)
      << "a binding stays";
}

TEST_F(Claims, AVolumeForOnePodIsTheFirstPods) {
  PutClaim("Bound", "disk");
  PutVolume("ReadWriteOncePod");
  const ObjectName claim{"default", "data"};
  cache_->Hold(PodOfClaim("uid-a"), 7);
  cache_->Hold(PodOfClaim("uid-b"), 3);
  Prepare("uid-a");
  EXPECT_FALSE(cache_->View("uid-a")->MayUse(claim)) << "the other one came before";
  EXPECT_TRUE(cache_->View("uid-b")->MayUse(claim));
  cache_->Hold(PodOfClaim("uid-c"), 1);
  EXPECT_FALSE(cache_->View("uid-c")->MayUse(claim)) << "it is in use";
  TakeChanged();
  cache_->Release("uid-b");
  EXPECT_EQ(TakeChanged(), (std::vector<std::string>{"uid-a", "uid-c"}));
  EXPECT_FALSE(cache_->View("uid-a")->MayUse(claim));
  EXPECT_TRUE(cache_->View("uid-c")->MayUse(claim));
}

}  // namespace
}  // namespace splitlet::pod_worker
