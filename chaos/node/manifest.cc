#include "chaos/node/manifest.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/kube/codec.h"

namespace splitlet::chaos {
namespace {

namespace core = k8s::io::api::core::v1;

/// Placeholder in an image name; replaced by another word each time the pod is created.
constexpr std::string_view kLife = "{life}";

/// fsGroup of pods with volumes.
constexpr int kFsGroup = 2000;
/// Kinds of the persistent volumes to which the pods' claims are bound.
constexpr std::string_view kClaims[] = {"local", "hostPath"};
std::string ClaimName(std::string_view kind) { return kind == "local" ? "local" : "host-path"; }

/// Checks in the script: files in volumes, writable volumes, the group of volumes.
struct VolumeKinds {
  std::vector<std::string> filled, writable, of_group;
};
VolumeKinds KindsOf(bool api) {
  VolumeKinds kinds{.filled = {"downward/name", "projected/name"},
                    .writable = {"disk", "memory"},
                    .of_group = {"disk", "memory"}};
  if (!api) return kinds;
  for (const char* file :
       {"config/word", "secret/word", "projected/config", "projected/secret", "projected/token"})
    kinds.filled.emplace_back(file);
  for (const auto kind : kClaims) kinds.writable.push_back(ClaimName(kind));
  kinds.of_group.push_back(ClaimName("local"));
  return kinds;
}

/// The script exits with 9 if a check fails.
std::string CheckOfVolumes(bool api) {
  const VolumeKinds kinds = KindsOf(api);
  std::string script;
  for (const auto& file : kinds.filled)
    script += fmt::format("[ -s /volumes/{} ] || exit 9\n", file);
  for (const auto& folder : kinds.writable)
    script += fmt::format("echo more >> /volumes/{}/file || exit 9\n", folder);
  for (const auto& folder : kinds.of_group)
    script += fmt::format("[ $(stat -c %g /volumes/{}) = {} ] || exit 9\n", folder, kFsGroup);
  return script;
}

core::DownwardAPIVolumeFile NameFile() {
  core::DownwardAPIVolumeFile file;
  file.set_path("name");
  file.mutable_field_ref()->set_field_path("metadata.name");
  return file;
}

void AddVolumes(bool api, kube::PodSpec& spec) {
  const auto add = [&spec](const std::string& name) {
    auto& mount = *spec.mutable_containers(0)->add_volume_mounts();
    mount.set_name(name);
    mount.set_mount_path("/volumes/" + name);
    auto& volume = *spec.add_volumes();
    volume.set_name(name);
    return volume.mutable_volume_source();
  };
  spec.mutable_security_context()->set_fs_group(kFsGroup);
  add("disk")->mutable_empty_dir();
  add("memory")->mutable_empty_dir()->set_medium("Memory");
  *add("downward")->mutable_downward_api()->add_items() = NameFile();
  auto& projected = *add("projected")->mutable_projected();
  *projected.add_sources()->mutable_downward_api()->add_items() = NameFile();
  if (!api) return;  // a static pod may not refer to objects of the API server
  spec.set_service_account_name("default");
  add("config")->mutable_config_map()->mutable_local_object_reference()->set_name("chaos");
  add("secret")->mutable_secret()->set_secret_name("chaos");
  auto& config = *projected.add_sources()->mutable_config_map();
  config.mutable_local_object_reference()->set_name("chaos");
  config.add_items()->set_key("word");
  config.mutable_items(0)->set_path("config");
  auto& secret = *projected.add_sources()->mutable_secret();
  secret.mutable_local_object_reference()->set_name("chaos");
  secret.add_items()->set_key("word");
  secret.mutable_items(0)->set_path("secret");
  projected.add_sources()->mutable_service_account_token()->set_path("token");
  for (const auto kind : kClaims)
    add(ClaimName(kind))->mutable_persistent_volume_claim()->set_claim_name(ClaimName(kind));
}

/// `forever` is for scripts that only run, and end immediately at TERM.
std::string Script(const PodToRun& pod) {
  return fmt::format(
      "w() {{ read -r up rest < /proc/uptime; echo \"$1 $up\" >> /witness/{}; }}\n"
      "forever() {{ while :; do sleep 3600 & wait $!; done; }}\n"
      "trap '{}' TERM\nw start\n{}{}\n",
      pod.witness, pod.from->ignores_term ? "w term" : "w term; exit 0",
      pod.from->volumes ? CheckOfVolumes(pod.from->api) : "", pod.from->script);
}

constexpr std::string_view kPostStart = "post", kPreStop = "pre";

/// Hooks that record their run once; a second run in one container writes "again".
void AddHook(const PodToRun& pod, std::string_view kind, core::LifecycleHandler& hook) {
  const std::string script = fmt::format(
      "mkdir /{0} 2>/dev/null && word={0} || word=again; read -r up rest < /proc/uptime; "
      "echo \"$word $up\" >> /witness/{1}; sleep 0.3",
      kind, pod.witness);
  for (const auto& word : {std::string("/bin/sh"), std::string("-c"), script})
    hook.mutable_exec()->add_command(word);
}

/// Timeouts are far above the time of a command on a busy machine, so only a hanging probe fails.
void AddProbe(const std::string& file, core::Probe& probe) {
  for (const auto& word : {std::string("test"), std::string("-s"), "/witness/" + file})
    probe.mutable_handler()->mutable_exec()->add_command(word);
  probe.set_period_seconds(1);
  probe.set_timeout_seconds(10);
  probe.set_failure_threshold(6);
}

void AddProbesAndHooks(const PodToRun& pod, kube::Container& container) {
  if (pod.from->probed)
    for (auto* probe : {container.mutable_startup_probe(), container.mutable_readiness_probe(),
                        container.mutable_liveness_probe()})
      AddProbe(pod.witness, *probe);
  if (!pod.from->hooked) return;
  AddHook(pod, kPostStart, *container.mutable_lifecycle()->mutable_post_start());
  AddHook(pod, kPreStop, *container.mutable_lifecycle()->mutable_pre_stop());
}

}  // namespace

std::string ManifestOf(const PodToRun& pod, const Place& place) {
  kube::Pod made = *pod.from->pod;
  made.mutable_metadata()->set_name(pod.name);
  auto& labels = *made.mutable_metadata()->mutable_labels();
  labels["splitlet.dev/chaos"] = pod.from->name;
  labels[kVersionLabel] = fmt::format("{}", pod.version);
  if (pod.from->same_uid) made.mutable_metadata()->set_uid("chaos-" + pod.name);
  if (!pod.from->script.empty()) {
    auto& container = *made.mutable_spec()->mutable_containers(0);
    for (const auto& word : {std::string("/bin/sh"), std::string("-c"), Script(pod)})
      container.add_command(word);
    std::string& image = *container.mutable_image();
    if (const auto at = image.find(kLife); at != std::string::npos)
      image.replace(at, kLife.size(), pod.witness);
    AddProbesAndHooks(pod, container);
    if (pod.from->volumes) AddVolumes(pod.from->api, *made.mutable_spec());
    auto& mount = *container.add_volume_mounts();
    mount.set_name("witness");
    mount.set_mount_path("/witness");
    auto& volume = *made.mutable_spec()->add_volumes();
    volume.set_name("witness");
    volume.mutable_volume_source()->mutable_host_path()->set_path(place.witness_dir);
    if (pod.from->cpu_percent > 0)
      (*container.mutable_resources()->mutable_requests())["cpu"].set_string(
          fmt::format("{}m", 10 * place.processors * pod.from->cpu_percent));
  }
  if (!pod.from->api)
    return kube::ToJson(made, {.api_version = "v1", .kind = "Pod", .indent = 2}) + "\n";
  made.mutable_metadata()->set_name(pod.name + "-" + place.node);  // the name of a static pod
  made.mutable_metadata()->set_namespace_("default");
  made.mutable_spec()->set_node_name(place.node);
  return kube::ToJson(made, {.api_version = "v1", .kind = "Pod"});
}

std::vector<std::string> FoldersOfVolumes(const std::string& folder) {
  std::vector<std::string> folders;
  for (const auto kind : kClaims) folders.push_back(folder + "/" + ClaimName(kind));
  return folders;
}

std::vector<std::pair<std::string, std::string>> ObjectsOfVolumes(const std::string& folder,
                                                                  const std::string& node) {
  const std::string path = "/api/v1/namespaces/default/";
  std::vector<std::pair<std::string, std::string>> objects = {
      {path + "configmaps/chaos",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"chaos","uid":"chaos-config"},)"
       R"("data":{"word":"of a config map"}})"},
      {path + "secrets/chaos",
       R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"chaos","uid":"chaos-secret"},)"
       R"("data":{"word":"b2YgYSBzZWNyZXQ="}})"}};
  for (const auto kind : kClaims) {
    const std::string name = ClaimName(kind);
    objects.emplace_back(
        path + "persistentvolumeclaims/" + name,
        fmt::format(R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{)"
                    R"("name":"{0}","uid":"claim-{0}"}},"spec":{{"volumeName":"{0}"}},)"
                    R"("status":{{"phase":"Bound"}}}})",
                    name));
    objects.emplace_back(
        "/api/v1/persistentvolumes/" + name,
        fmt::format(R"({{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":"{0}",)"
                    R"("uid":"volume-{0}"}},"spec":{{"{1}":{{"path":"{2}/{0}"}},"claimRef":{{)"
                    R"("namespace":"default","name":"{0}","uid":"claim-{0}"}},"nodeAffinity":{{)"
                    R"("required":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":)"
                    R"("kubernetes.io/hostname","operator":"In","values":["{3}"]}}]}}]}}}}}},)"
                    R"("status":{{"phase":"Bound"}}}})",
                    name, kind, folder, node));
  }
  return objects;
}

Witness ParseWitness(const std::string& text, WallTime boot) {
  Witness witness;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const auto space = line.find(' ');
    if (space == std::string::npos) continue;
    double seconds = 0;
    const char* first = line.data() + space + 1;
    const auto [last, error] = std::from_chars(first, line.data() + line.size(), seconds);
    if (error != std::errc{} || last == first || !(std::abs(seconds) < 1e9)) continue;
    const WallTime wall = boot + Duration{1ms} * static_cast<int64_t>(seconds * 1000);
    const std::string word = line.substr(0, space);
    if (word == "start") witness.starts.push_back(wall);
    if (word == "term") witness.terms.push_back(wall);
    if (word == kPostStart) ++witness.post_starts;
    if (word == kPreStop) ++witness.pre_stops;
    if (word == "again") ++witness.hooks_again;
  }
  return witness;
}

}  // namespace splitlet::chaos
