#include "k8s.io/api/core/v1/reference.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/objects/object_set.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Images that are pulled, and those that not everybody may pull.

namespace splitlet::pod_worker {
namespace {

using Texts = std::vector<std::string>;

/// "reason message" of a container's events about images; of the pod's where it is "".
Texts AboutImages(const FakeEvents& events, const std::string& container) {
  Texts texts;
  for (const auto& event : events.events)
    if (event.container == container && event.reason != "Created" && event.reason != "Started")
      texts.push_back(event.reason + " " + event.message);
  return texts;
}

kube::Pod AlwaysPulling(const std::string& name) {
  auto pod = TestPod{.name = name, .uid = "uid-" + name}.Make();
  pod.mutable_spec()->mutable_containers(0)->set_image_pull_policy("Always");
  pod.mutable_spec()->mutable_containers(0)->set_image(name + ":1");
  return pod;
}

class PullingNode : public TestNode {
 protected:
  /// The pull that was held back as the n-th has brought its image.
  void Answer(size_t n) {
    ASSERT_LT(n, process->calls.pulls.size());
    runtime.AddImage(process->calls.asked_images[n]);
    process->calls.pulls[n](
        runtime.ImageStatus({process->calls.asked_images[n]}, After(clock, 1s))->value().id);
  }
  /// So, a second later.
  void Bring(size_t n) {
    RunFor(1s);
    Answer(n);
    Settle();
  }
};

class Pulls : public testing::Test, public PullingNode {
 protected:
  void SetUp() override { Start(); }
};

TEST_F(Pulls, WithoutATagTheLatestIsAskedFor) {
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->mutable_containers(0)->set_image("busybox");
  pod.mutable_spec()->mutable_containers(0)->set_image_pull_policy("Always");
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(process->calls.asked_images, Texts{"busybox:latest"});
  EXPECT_EQ(events.Text("Pulling"), "Pulling image \"busybox\"");
}

TEST_F(Pulls, ImagesArePulledOnceAndUsed) {
  auto pod = TestPod{.containers = {"a", "b"}}.Make();
  for (auto& container : *pod.mutable_spec()->mutable_containers()) container.set_image("new:1");
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "a/0=running b/0=running sandbox/0=ready");
  EXPECT_EQ(runtime.Calls("PullImage"), 1u);
  EXPECT_EQ(events.Text("Pulling"), "Pulling image \"new:1\"");
  EXPECT_NE(events.Text("Pulled").find("Successfully pulled image \"new:1\" in "),
            std::string::npos);
}

TEST_F(Pulls, APullThatFailsBacksOff) {
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->mutable_containers(0)->set_image("bad:1");
  runtime.SetPull("bad:1", {.error = NotFound("no such image")});
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(NoteOf("app").reason(), "ErrImagePull");
  EXPECT_EQ(runtime.Calls("PullImage"), 1u);
  const std::string why = "rpc error: code = NotFound desc = no such image";
  EXPECT_EQ(AboutImages(events, "app"),
            (Texts{"Pulling Pulling image \"bad:1\"",
                   "Failed Failed to pull image \"bad:1\": " + why, "Failed Error: ErrImagePull"}));
  events.events.clear();
  Changed();
  EXPECT_EQ(NoteOf("app").reason(), "ImagePullBackOff");
  EXPECT_EQ(NoteOf("app").message(), "Back-off pulling image \"bad:1\": ErrImagePull: " + why);
  EXPECT_EQ(AboutImages(events, "app"),
            (Texts{"BackOff Back-off pulling image \"bad:1\"", "Failed Error: ImagePullBackOff"}));
  EXPECT_EQ(runtime.Calls("PullImage"), 1u);
  RunFor(13s);
  EXPECT_EQ(runtime.Calls("PullImage"), 2u);
  runtime.SetPull("bad:1", {});
  RunFor(25s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Pulls, OfContainersThatWaitForOneOneHasFailedAndTheOthersBackOff) {
  auto pod = TestPod{.containers = {"a", "b"}}.Make();
  for (auto& container : *pod.mutable_spec()->mutable_containers()) container.set_image("bad:1");
  runtime.SetPull("bad:1", {.error = NotFound("no such image")});
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(NoteOf("a").reason(), "ErrImagePull");
  EXPECT_EQ(NoteOf("b").reason(), "ImagePullBackOff");
  EXPECT_EQ(NoteOf("b").message(),
            "Back-off pulling image \"bad:1\": ErrImagePull: " + NoteOf("a").message());
  EXPECT_EQ(events.Count("BackOff"), 1);
  EXPECT_EQ(runtime.Calls("PullImage"), 1u);
  runtime.SetPull("bad:1", {});
  RunFor(25s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 2u);
}

TEST_F(Pulls, OneAfterTheOtherAndTheLaterOnesSayThatTheyWaited) {
  process->calls.hold = true;
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(RunPod(AlwaysPulling(name)).ok());
  for (const size_t n : {0, 1, 2}) {
    ASSERT_EQ(process->calls.pulls.size(), n + 1) << "no two at the same time";
    Bring(n);
  }
  Texts texts;
  for (const auto& event : events.events)
    if (event.reason == "Pulled") texts.push_back(event.message);
  EXPECT_EQ(texts, (Texts{"Successfully pulled image \"a:1\" in 1s (1s including waiting). Image "
                          "size: 1048576 bytes.",
                          "Successfully pulled image \"b:1\" in 1s (2s including waiting). Image "
                          "size: 1048576 bytes.",
                          "Successfully pulled image \"c:1\" in 1s (3s including waiting). Image "
                          "size: 1048576 bytes."}));
}

/// Of a pull that ends while a sync runs, which began while it was under way.
struct EndInASync {
  std::string name;
  bool comes = false;
  std::string reason;  // what waits for it says then
};
class EndsInASync : public Pulls, public testing::WithParamInterface<EndInASync> {};

TEST_P(EndsInASync, IsNotBegunAnew) {
  auto pod = TestPod{.containers = {"a", "b"}}.Make();
  pod.mutable_spec()->mutable_containers(1)->set_image("new:1");
  pod.mutable_spec()->mutable_containers(1)->set_image_pull_policy("Always");
  process->calls.hold = true;
  ASSERT_TRUE(RunPod(pod).ok());
  ASSERT_EQ(process->calls.pulls.size(), 1u);
  traced.on_container = [&](const runtime::v1::ContainerConfig& made) {
    if (made.metadata().name() != "a") return;
    GetParam().comes ? Answer(0) : process->calls.pulls[0](NotFound("no such image"));
    all.WaitInStep(clock.Now() + 1s, [] { return false; });
  };
  Exit("a", 1);
  RunFor(2s);
  EXPECT_EQ(process->calls.asked_images, Texts{"new:1"});
  EXPECT_EQ(events.Count("Pulling"), 1);
  EXPECT_EQ(NoteOf("b").reason(), GetParam().reason);
  EXPECT_EQ(runtime.Running("uid-web").size(), GetParam().comes ? 2u : 1u);
  RunFor(12s);
  EXPECT_EQ(process->calls.asked_images.size(), GetParam().comes ? 1u : 2u)
      << "the next one after the shortest back-off";
}

INSTANTIATE_TEST_SUITE_P(Pulls, EndsInASync,
                         testing::Values(EndInASync{"Failed", false, "ImagePullBackOff"},
                                         EndInASync{"Came", true, ""}),
                         [](const auto& test) { return test.param.name; });

TEST_F(Pulls, AsManyAtOnceAsAllowed) {
  config.parallel_pulls = 2;
  Restart();
  process->calls.hold = true;
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(RunPod(AlwaysPulling(name)).ok());
  EXPECT_EQ(process->calls.asked_images, (Texts{"a:1", "b:1"}));
  Bring(1);
  EXPECT_EQ(process->calls.asked_images, (Texts{"a:1", "b:1", "c:1"}));
}

TEST_F(Pulls, OneBeyondTheRateOfTheRegistryWaitsForItsToken) {
  config.registry_burst = config.registry_qps = 1;
  Restart();
  ASSERT_TRUE(RunPod(AlwaysPulling("a")).ok());
  ASSERT_TRUE(RunPod(AlwaysPulling("b")).ok());
  EXPECT_EQ(runtime.Running("uid-a").size(), 1u);
  EXPECT_EQ(runtime.Running("uid-b").size(), 0u);
  EXPECT_EQ(runtime.Calls("PullImage"), 1u);
  RunFor(1100ms);
  EXPECT_EQ(runtime.Running("uid-b").size(), 1u);
  EXPECT_EQ(events.Count("Failed"), 0);
  EXPECT_EQ(events.Count("BackOff"), 0);
}

TEST_F(Pulls, AHundredPodsThatPullAtOnceRunInThirtySeconds) {
  constexpr int kCount = 100;
  for (int i = 0; i < kCount; ++i) ASSERT_TRUE(RunPod(AlwaysPulling(fmt::format("p{}", i))).ok());
  const auto running = [&] {
    int count = 0;
    for (int i = 0; i < kCount; ++i)
      count += static_cast<int>(runtime.Running(fmt::format("uid-p{}", i)).size());
    return count;
  };
  EXPECT_EQ(running(), config.registry_burst) << "and no more at first";
  RunFor(10100ms);
  EXPECT_EQ(running(), config.registry_burst + 10 * config.registry_qps);
  RunFor(19900ms);
  EXPECT_EQ(running(), kCount);
  EXPECT_EQ(runtime.Calls("PullImage"), size_t{kCount});
  EXPECT_EQ(events.Count("BackOff"), 0);
}

TEST_F(Pulls, APullOfAnEarlierLifeAnswersNothing) {
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->mutable_containers(0)->set_image("new:1");
  process->calls.hold = true;
  ASSERT_TRUE(RunPod(pod).ok());
  ASSERT_EQ(process->calls.pulls.size(), 1u);
  ASSERT_TRUE(RunPod(pod, 2).ok());
  RunFor(5s);
  ASSERT_EQ(Record()->incarnation(), 2);
  process->calls.pulls[0](std::string("sha256:earlier"));
  RunFor(5s);
  EXPECT_EQ(Show(), "sandbox/0=dead sandbox/1=ready") << "the answer is for an earlier incarnation";
  ASSERT_EQ(process->calls.pulls.size(), 2u) << "which pulls for itself";
  EXPECT_EQ(events.Count("Pulled"), 0);
  runtime.AddImage("new:1");
  process->calls.pulls[1](runtime.ImageStatus({"new:1"}, After(clock, 1s))->value().id);
  Settle();
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Pulls, AfterARestartAPullIsBegunAgain) {
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->mutable_containers(0)->set_image("new:1");
  process->calls.hold = true;
  ASSERT_TRUE(RunPod(pod).ok());
  ASSERT_EQ(process->calls.pulls.size(), 1u);
  Restart();
  RunFor(5s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Pulls, AnImageThatMayNotBePulledIsNamed) {
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->mutable_containers(0)->set_image("absent:1");
  pod.mutable_spec()->mutable_containers(0)->set_image_pull_policy("Never");
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(NoteOf("app").reason(), "ErrImageNeverPull");
  EXPECT_EQ(runtime.Calls("PullImage"), 0u);
}

TEST_F(Pulls, TheRuntimeIsToldTheAnnotationsOfThePod) {
  auto pod = TestPod{}.Make();
  (*pod.mutable_metadata()->mutable_annotations())["example.com/a"] = "1";
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(runtime.ImageAnnotations().at("example.com/a"), "1") << "of one that is there";
  pod = AlwaysPulling("new");
  pod.mutable_spec()->mutable_security_context()->set_run_as_user(1000);  // or the image is asked
  (*pod.mutable_metadata()->mutable_annotations())["example.com/a"] = "2";
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(runtime.ImageAnnotations().at("example.com/a"), "2") << "of one that was pulled";
}

constexpr const char* kImage = "reg.io/team/app:1";

std::string Login(const std::string& user) {
  return R"({"auths": {"reg.io": {"username": ")" + user + R"(", "password": "hunter2"}}})";
}

class PrivateImages : public testing::Test, public TestNode {
 protected:
  void SetUp() override {
    objects = [this] { return std::make_shared<ObjectSet>(objects_); };
    runtime.SetPull(kImage, {.login = "team:hunter2"});
    Start();
  }
  void PutSecret(const std::string& name, const std::string& logins) {
    auto read = ReadObjects("apiVersion: v1\nkind: Secret\nmetadata: {name: " + name +
                                ", uid: uid-" + name +
                                "}\ntype: kubernetes.io/dockerconfigjson\nstringData: "
                                "{.dockerconfigjson: '" +
                                logins + "'}\n",
                            "f.yaml");
    ASSERT_TRUE(read.ok()) << read.status();
    for (const auto& [key, secret] : read->secrets) objects_.secrets[key] = secret;
  }
  void RemoveImages() {
    const auto images = runtime.ListImages(After(clock, 1s));
    ASSERT_TRUE(images.ok()) << images.status();
    for (const auto& image : *images)
      ASSERT_TRUE(runtime.RemoveImage(image.id, After(clock, 1s)).ok());
  }
  static kube::Pod PodOf(const std::string& name, const std::vector<std::string>& secrets,
                         const std::string& policy = "IfNotPresent") {
    auto pod = TestPod{.name = name, .uid = "uid-" + name}.Make();
    auto& container = *pod.mutable_spec()->mutable_containers(0);
    container.set_image(kImage);
    container.set_image_pull_policy(policy);
    for (const auto& secret : secrets)
      pod.mutable_spec()->add_image_pull_secrets()->set_name(secret);
    return pod;
  }
  void PutNodeLogin(const std::string& user) {
    ASSERT_TRUE(
        files.Replace(config.node.pod_roots.root_dir + "/config.json", Login(user), {}).ok());
  }
  size_t Files(const std::string& folder) {
    const auto list = files.List(config.node.pod_roots.root_dir + "/image_manager/" + folder);
    return list.ok() ? list->size() : 0;
  }
  bool Runs(const std::string& name) { return runtime.Running("uid-" + name).size() == 1; }

  ObjectSet objects_;
};

TEST_F(PrivateImages, ASecretOfThePodOpensThemForThatPodAlone) {
  PutSecret("team", Login("team"));
  ASSERT_TRUE(RunPod(PodOf("a", {"team"})).ok());
  EXPECT_TRUE(Runs("a"));
  EXPECT_EQ(Files("pulled"), 1u);
  EXPECT_EQ(Files("pulling"), 0u);
  ASSERT_TRUE(RunPod(PodOf("b", {})).ok());
  EXPECT_FALSE(Runs("b")) << "that it is there is no reason to give it to everybody";
  EXPECT_EQ(NoteOf("app", "uid-b").reason(), "ErrImagePull");
  EXPECT_EQ(
      NoteOf("app", "uid-b").message(),
      "rpc error: code = PermissionDenied desc = pull access denied for " + std::string(kImage));
  ASSERT_TRUE(RunPod(PodOf("c", {}, "Never")).ok());
  EXPECT_EQ(NoteOf("app", "uid-c").reason(), "ErrImageNeverPull");
  const size_t pulls = runtime.Calls("PullImage");
  PutSecret("copy", Login("team"));
  ASSERT_TRUE(RunPod(PodOf("d", {"copy"})).ok());
  EXPECT_TRUE(Runs("d"));
  EXPECT_EQ(runtime.Calls("PullImage"), pulls) << "equal credentials are as good";
}

TEST_F(PrivateImages, OneThatWasHereBeforeIsUsedWithoutALookAtCredentials) {
  runtime.AddImage(kImage);
  ASSERT_TRUE(RunPod(PodOf("a", {"none"})).ok());
  EXPECT_TRUE(Runs("a"));
  EXPECT_EQ(runtime.Calls("PullImage"), 0u);
  EXPECT_EQ(events.Count("FailedToRetrieveImagePullSecret"), 0);
  EXPECT_EQ(AboutImages(events, "app"),
            Texts{"Pulled Container image \"reg.io/team/app:1\" already present on machine and can "
                  "be accessed by the pod"});
}

TEST_F(PrivateImages, CredentialsAreTriedOneAfterTheOther) {
  PutSecret("wrong", Login("other"));
  PutNodeLogin("team");
  ASSERT_TRUE(RunPod(PodOf("a", {"wrong"})).ok());
  EXPECT_TRUE(Runs("a"));
  EXPECT_EQ(runtime.Calls("PullImage"), 2u);
  ASSERT_TRUE(RunPod(PodOf("b", {})).ok());
  EXPECT_TRUE(Runs("b")) << "the node's credentials are for all its pods";
  EXPECT_EQ(runtime.Calls("PullImage"), 2u);
}

TEST_F(PrivateImages, APluginOfTheNodeIsAskedLast) {
  config.credential_providers = {{.name = "helper",
                                  .argv = {"/bin/helper"},
                                  .match_images = {"reg.io"},
                                  .api_version = "credentialprovider.kubelet.k8s.io/v1"}};
  std::string asked;
  run_program = [&asked](const process::Program& program) -> StatusOr<std::string> {
    asked = program.input;
    return std::string(R"({"kind": "CredentialProviderResponse", "cacheKeyType": "Image",
        "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
        "auth": {"reg.io": {"username": "team", "password": "hunter2"}}})");
  };
  Restart();
  PutSecret("wrong", Login("other"));
  ASSERT_TRUE(RunPod(PodOf("a", {"wrong"})).ok());
  EXPECT_TRUE(Runs("a"));
  EXPECT_EQ(runtime.Calls("PullImage"), 2u);
  EXPECT_NE(asked.find("\"image\":\"reg.io/team/app\""), std::string::npos) << asked;
  ASSERT_TRUE(RunPod(PodOf("b", {})).ok());
  EXPECT_TRUE(Runs("b")) << "what the node may have is for all its pods";
  EXPECT_EQ(runtime.Calls("PullImage"), 2u);
}

/// The next pulls wait for the one before them.
class WaitingPulls : public PrivateImages {
 protected:
  void SetUp() override {
    PrivateImages::SetUp();
    process->calls.hold = true;
    ASSERT_TRUE(RunPod(AlwaysPulling("other")).ok());
    ASSERT_EQ(process->calls.pulls.size(), 1u);
    PutSecret("team", Login("team"));
    PutSecret("wrong", Login("other"));
    ASSERT_TRUE(RunPod(first_).ok());
    ASSERT_TRUE(RunPod(second_).ok());
  }
  /// The one before them ends.
  void GoOn() {
    ASSERT_EQ(process->calls.pulls.size(), 1u) << "no other pull runs";
    process->calls.hold = false;
    process->calls.pulls[0](NotFound("no such image"));
    Settle();
  }
  const kube::Pod first_ = PodOf("a", {"team"}), second_ = PodOf("b", {"team"});
};

TEST_F(WaitingPulls, AreSharedByPodsWithTheSameCredentials) {
  ASSERT_TRUE(RunPod(PodOf("c", {"wrong"})).ok());
  GoOn();
  EXPECT_TRUE(Runs("a"));
  EXPECT_TRUE(Runs("b"));
  EXPECT_FALSE(Runs("c"));
  EXPECT_EQ(NoteOf("app", "uid-c").reason(), "ErrImagePull");
  EXPECT_EQ(runtime.Calls("PullImage"), 2u);
  EXPECT_EQ(Files("pulling"), 0u);
}

TEST_F(WaitingPulls, GoOnAsLongAsAPodWantsThem) {
  Remove(first_);
  GoOn();
  EXPECT_TRUE(Runs("b"));
  EXPECT_EQ(runtime.Calls("PullImage"), 1u);
}

TEST_F(WaitingPulls, AreNotBegunForPodsThatHaveEnded) {
  Remove(first_);
  Remove(second_);
  GoOn();
  EXPECT_EQ(runtime.Calls("PullImage"), 0u);
}

TEST_F(PrivateImages, ASecretThatIsMissingIsSaidAndTheOthersAreTried) {
  PutSecret("team", Login("team"));
  ASSERT_TRUE(RunPod(PodOf("a", {"none", "team"})).ok());
  EXPECT_TRUE(Runs("a"));
  EXPECT_EQ(events.Text("FailedToRetrieveImagePullSecret"),
            "Unable to retrieve some image pull secrets (none); attempting to pull the image may "
            "not succeed.");
}

TEST_F(PrivateImages, ASecretThatCannotBeUnderstoodHoldsItsPodBackAndShowsNothing) {
  PutSecret("broken", "hunter2");
  ASSERT_TRUE(RunPod(PodOf("a", {"broken"})).ok());
  EXPECT_EQ(NoteOf("app", "uid-a").message(),
            "pull secret default/broken: .dockerconfigjson: not a JSON object");
  EXPECT_EQ(runtime.Calls("PullImage"), 0u);
  EXPECT_EQ(Files("pulling"), 0u);
  ASSERT_TRUE(RunPod(TestPod{.name = "other", .uid = "uid-other"}.Make()).ok());
  EXPECT_TRUE(Runs("other"));
}

TEST_F(PrivateImages, AsLongAsOneIsPulledItsPodSaysSinceWhen) {
  PutSecret("team", Login("team"));
  process->calls.hold = true;
  const std::string text = fmt::format("waits for the pull of image \"{}\" since {}", kImage,
                                       FormatRfc3339(clock.WallNow()));
  ASSERT_TRUE(RunPod(PodOf("a", {"team"})).ok());
  EXPECT_EQ(Record("uid-a")->admission_reason(), text);
  RunFor(3min);
  EXPECT_EQ(Record("uid-a")->admission_reason(), text);
  ASSERT_EQ(process->calls.pulls.size(), 1u);
  process->calls.pulls[0](NotFound("no such image"));
  Settle();
  EXPECT_EQ(NoteOf("app", "uid-a").reason(), "ErrImagePull");
  EXPECT_EQ(Record("uid-a")->admission_reason(), "");
  process->calls.hold = false;
  RunFor(30s);
  EXPECT_TRUE(Runs("a"));
  EXPECT_EQ(Record("uid-a")->admission_reason(), "");
}

TEST_F(PrivateImages, APullThatCannotBeNotedIsNotBegun) {
  PutSecret("team", Login("team"));
  const std::string dir = config.node.pod_roots.root_dir + "/image_manager/pulling";
  files.Fail(dir, Unavailable("no space left"));
  ASSERT_TRUE(RunPod(PodOf("a", {"team"})).ok());
  EXPECT_EQ(NoteOf("app", "uid-a").reason(), "ErrImagePull");
  EXPECT_TRUE(NoteOf("app", "uid-a")
                  .message()
                  .starts_with("Failed to record image pull intent for container image "
                               "\"reg.io/team/app:1\": "))
      << NoteOf("app", "uid-a").message();
  EXPECT_EQ(runtime.Calls("PullImage"), 0u);
}

/// A volume that is an image: pulled as a container's own.
class ImageVolumes : public testing::Test, public PullingNode {
 protected:
  void SetUp() override {
    traced.on_container = [this](const runtime::v1::ContainerConfig& made) {
      made_[made.metadata().name()] = made;
    };
    Start();
  }
  static kube::Pod PodWith(const std::string& reference, const std::string& policy) {
    auto pod = TestPod{.source = "api", .containers = {"app", "other"}}.Make();
    auto& volume = *pod.mutable_spec()->add_volumes();
    volume.set_name("model");
    volume.mutable_volume_source()->mutable_image()->set_reference(reference);
    volume.mutable_volume_source()->mutable_image()->set_pull_policy(policy);
    auto& mount = *pod.mutable_spec()->mutable_containers(0)->add_volume_mounts();
    mount.set_name("model");
    mount.set_mount_path("/model");
    mount.set_sub_path("a/b");
    return pod;
  }
  std::map<std::string, runtime::v1::ContainerConfig> made_;
};

TEST_F(ImageVolumes, OneThatCannotBePulledHoldsUpOnlyWhoMountsIt) {
  runtime.SetPull("reg.io/model:1", {.error = NotFound("no such image")});
  ASSERT_TRUE(RunPod(PodWith("reg.io/model:1", "IfNotPresent")).ok());
  EXPECT_EQ(NoteOf("app").reason(), "ErrImagePull");
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
  EXPECT_TRUE(made_.contains("other"));
  runtime.SetPull("reg.io/model:1", {});
  RunFor(30s);
  EXPECT_EQ(Show(), "app/0=running other/0=running sandbox/0=ready");
  ASSERT_GT(made_["app"].mounts_size(), 0);
  const auto& mount = made_["app"].mounts(0);
  EXPECT_EQ(mount.image().user_specified_image(), "reg.io/model:1");
  EXPECT_NE(mount.image().image(), "");
  EXPECT_EQ(mount.image_sub_path(), "a/b");
  EXPECT_EQ(mount.host_path(), "");
}

TEST_F(ImageVolumes, AreEnsuredBeforeAnythingStarts) {
  auto pod = PodWith("reg.io/model:1", "IfNotPresent");
  *pod.mutable_spec()->add_init_containers() =
      TestPod{.containers = {"init"}}.Make().spec().containers(0);
  process->calls.hold = true;
  ASSERT_TRUE(RunPod(pod).ok());
  ASSERT_EQ(process->calls.pulls.size(), 1u);
  EXPECT_EQ(Show(), "sandbox/0=ready") << "the init container does not mount it, and waits";
  EXPECT_EQ(events.Text("Pulling"), "Pulling image \"reg.io/model:1\"");
  for (const auto& event : events.events) EXPECT_EQ(event.container, "") << event.reason;
  Bring(0);
  EXPECT_EQ(Show(), "init/0=running sandbox/0=ready");
}

TEST_F(ImageVolumes, AFailureIsOfThePodAndToldByWhoMountsIt) {
  runtime.SetPull("reg.io/model:1", {.error = NotFound("no such image")});
  ASSERT_TRUE(RunPod(PodWith("reg.io/model:1", "IfNotPresent")).ok());
  const std::string why = "rpc error: code = NotFound desc = no such image";
  const Texts once = {"Pulling Pulling image \"reg.io/model:1\"",
                      "Failed Failed to pull image \"reg.io/model:1\": " + why};
  EXPECT_EQ(AboutImages(events, ""), once);
  EXPECT_EQ(AboutImages(events, "app"), Texts{"Failed Error: ErrImagePull"});
  EXPECT_EQ(NoteOf("app").message(), why);
  EXPECT_EQ(NoteOf("").reason(), "") << "the pod is no container";
  Changed();
  EXPECT_EQ(NoteOf("app").reason(), "ImagePullBackOff");
  EXPECT_EQ(NoteOf("app").message(),
            "Back-off pulling image \"reg.io/model:1\": ErrImagePull: " + why);
  EXPECT_EQ(AboutImages(events, "").back(), "BackOff Back-off pulling image \"reg.io/model:1\"");
  EXPECT_EQ(AboutImages(events, "app").back(), "Failed Error: ImagePullBackOff");
  EXPECT_EQ(runtime.Calls("PullImage"), 1u);
}

TEST_F(ImageVolumes, OneThatNobodyMountsIsEnsuredAndHoldsUpNobody) {
  auto pod = PodWith("reg.io/model:1", "Never");
  pod.mutable_spec()->mutable_containers(0)->clear_volume_mounts();
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "app/0=running other/0=running sandbox/0=ready");
  EXPECT_EQ(events.Count("ErrImageNeverPull"), 1);
}

TEST_F(ImageVolumes, OneThatIsPulledAlwaysIsPulledOnceForAStart) {
  auto pod = PodWith("reg.io/model:1", "Always");
  pod.mutable_spec()->mutable_containers(0)->set_image_pull_policy("Always");
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(10s);
  EXPECT_EQ(Show(), "app/0=running other/0=running sandbox/0=ready");
  EXPECT_EQ(runtime.Calls("PullImage"), 2u) << "its own image and the volume";
}

TEST_F(ImageVolumes, OneThatNothingCouldBeMadeWithIsPulledForTheNextTry) {
  auto pod = PodWith("reg.io/model:1", "Always");
  pod.mutable_spec()->mutable_containers()->RemoveLast();
  runtime.AddFault({.method = "CreateContainer", .code = StatusCode::kUnknown, .times = 1});
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(NoteOf("app").reason(), "CreateContainerError");
  EXPECT_EQ(runtime.Calls("PullImage"), 1u);
  RunFor(20s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_EQ(runtime.Calls("PullImage"), 2u);
}

TEST_F(ImageVolumes, OneOfAContainerThatWasMadeAndNotStartedIsPulledForItsRestart) {
  auto pod = PodWith("reg.io/model:1", "Always");
  pod.mutable_spec()->mutable_containers()->RemoveLast();
  runtime.AddFault({.method = "StartContainer", .code = StatusCode::kUnknown, .times = 1});
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "app/0=created sandbox/0=ready");
  RunFor(20s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_EQ(runtime.Calls("PullImage"), 1u) << "it is the same container";
  Exit("app", 1);
  RunFor(1s);
  EXPECT_EQ(Show(), "app/0=exited(1) app/1=running sandbox/0=ready");
  EXPECT_EQ(runtime.Calls("PullImage"), 2u);
}

TEST_F(ImageVolumes, OneIsKeptForThoseWhoseOwnImageIsStillPulledAndForNobodyElse) {
  config.parallel_pulls = 2;
  Restart();
  auto pod = PodWith("model:1", "Always");
  pod.mutable_spec()->mutable_containers(1)->set_image("own:1");
  process->calls.hold = true;
  ASSERT_TRUE(RunPod(pod).ok());
  Bring(0);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_EQ(process->calls.asked_images, (Texts{"model:1", "own:1"}));
  Exit("app", 1);
  EXPECT_EQ(Show(), "app/0=exited(1) sandbox/0=ready");
  EXPECT_EQ(process->calls.asked_images, (Texts{"model:1", "own:1", "model:1"}));
  Bring(2);
  EXPECT_EQ(Show(), "app/0=exited(1) app/1=running sandbox/0=ready");
  Bring(1);
  EXPECT_EQ(Show(), "app/0=exited(1) app/1=running other/0=running sandbox/0=ready");
  EXPECT_EQ(process->calls.asked_images.size(), 3u);
}

TEST_F(PrivateImages, AnImageWithoutItsRecordHasToBePulledAgain) {
  PutSecret("team", Login("team"));
  const std::string dir = config.node.pod_roots.root_dir + "/image_manager/pulled";
  files.Fail(dir, Unavailable("no space left"));
  ASSERT_TRUE(RunPod(PodOf("a", {"team"})).ok());
  EXPECT_TRUE(Runs("a"));
  EXPECT_EQ(Files("pulling"), 1u) << "it is still said that the image is no gift";
  files.Fail(dir, OkStatus());
  Restart();
  EXPECT_EQ(Files("pulled"), 1u);
  EXPECT_EQ(Files("pulling"), 0u);
  ASSERT_TRUE(RunPod(PodOf("b", {})).ok());
  EXPECT_FALSE(Runs("b"));
  ASSERT_TRUE(RunPod(PodOf("c", {"team"})).ok());
  EXPECT_TRUE(Runs("c"));
}

TEST_F(PrivateImages, RecordsOfImagesThatAreGoneGoWhileWeRun) {
  PutSecret("team", Login("team"));
  ASSERT_TRUE(RunPod(PodOf("a", {"team"})).ok());
  RunFor(11min);
  EXPECT_EQ(Files("pulled"), 1u) << "the image is there";
  RemoveImages();
  RunFor(6min);
  EXPECT_EQ(Files("pulled"), 0u);
}

TEST_F(PrivateImages, ARuntimeThatDoesNotAnswerAtTheStartIsAskedAgain) {
  PutSecret("team", Login("team"));
  ASSERT_TRUE(RunPod(PodOf("a", {"team"})).ok());
  Kill();
  RemoveImages();
  runtime.AddFault({.method = "ListImages"});
  Start();
  RunFor(20s);
  EXPECT_EQ(Files("pulled"), 1u) << "the images of the runtime are not known";
  runtime.ClearFaults();
  RunFor(11s);
  EXPECT_EQ(Files("pulled"), 0u);
}

TEST_F(PrivateImages, TheIntentOfAPullThatIsUnderWayStays) {
  PutSecret("team", Login("team"));
  ASSERT_TRUE(RunPod(PodOf("a", {"team"}, "Always")).ok());
  ASSERT_TRUE(Runs("a"));
  ASSERT_EQ(Files("pulled"), 1u);
  process->calls.hold = true;
  ASSERT_TRUE(RunPod(PodOf("b", {"team"}, "Always")).ok());
  ASSERT_EQ(Files("pulling"), 1u);
  RunFor(6min);
  EXPECT_EQ(Files("pulling"), 1u) << "a kill now would lose whose image this is";
  EXPECT_EQ(Files("pulled"), 1u);
}

}  // namespace
}  // namespace splitlet::pod_worker
