#include "libs/cri/fake_world.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <algorithm>
#include <utility>

#include "libs/base/hash.h"
#include "libs/cri/convert.h"
#include "libs/cri/to_proto.h"
#include "runtime/v1/api.pb.h"

namespace splitlet::cri {
namespace {

using google::protobuf::util::ParseDelimitedFromZeroCopyStream;

Container FromProto(const runtime::v1::ContainerStatus& from, const SandboxId& sandbox) {
  Container to;
  to.id = ContainerId(from.id());
  to.sandbox_id = sandbox;
  to.name = from.metadata().name();
  to.attempt = from.metadata().attempt();
  to.state = static_cast<ContainerState>(from.state());
  to.created_at_ns = from.created_at();
  to.started_at_ns = from.started_at();
  to.finished_at_ns = from.finished_at();
  to.exit_code = from.exit_code();
  to.reason = from.reason();
  to.message = from.message();
  to.image = from.image().image();
  to.image_ref = from.image_ref();
  to.image_id = from.image_id();
  to.log_path = from.log_path();
  to.labels = StringMap(from.labels().begin(), from.labels().end());
  to.annotations = StringMap(from.annotations().begin(), from.annotations().end());
  for (const auto& mount : from.mounts()) {
    to.mounts.push_back({mount.container_path(), mount.host_path(), mount.readonly()});
  }
  if (from.user().has_linux()) to.user = cri::FromProto(from.user().linux());
  if (from.resources().has_linux()) to.resources = cri::FromProto(from.resources().linux());
  return to;
}

Sandbox FromProto(const runtime::v1::PodSandboxStatus& from) {
  Sandbox to;
  to.id = SandboxId(from.id());
  to.pod_name = from.metadata().name();
  to.pod_namespace = from.metadata().namespace_();
  to.pod_uid = from.metadata().uid();
  to.attempt = from.metadata().attempt();
  to.state =
      from.state() == runtime::v1::SANDBOX_READY ? SandboxState::kReady : SandboxState::kNotReady;
  to.created_at_ns = from.created_at();
  to.runtime_handler = from.runtime_handler();
  to.labels = StringMap(from.labels().begin(), from.labels().end());
  to.annotations = StringMap(from.annotations().begin(), from.annotations().end());
  if (!from.network().ip().empty()) to.ips.push_back(from.network().ip());
  for (const auto& ip : from.network().additional_ips()) to.ips.push_back(ip.ip());
  to.host_network = from.linux().namespaces().options().network() == runtime::v1::NODE;
  return to;
}

// Equal states give equal bytes, although maps have no order.
void Append(const google::protobuf::MessageLite& message, std::string& out) {
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  google::protobuf::util::SerializeDelimitedToCodedStream(message, &coded);
}

}  // namespace

std::string NormalImageName(const std::string& image) {
  if (image.starts_with("sha256:")) return image;
  std::string name = image;
  const size_t slash = name.find('/');
  const bool has_host = slash != std::string::npos &&
                        (name.find_first_of(".:") < slash || name.starts_with("localhost/"));
  if (!has_host) name = (slash == std::string::npos ? "docker.io/library/" : "docker.io/") + name;
  const size_t last = name.rfind('/');
  if (name.find('@', last) == std::string::npos && name.find(':', last) == std::string::npos)
    name += ":latest";
  return name;
}

std::string FakeControls::World::NameOf(const Sandbox& s) {
  return fmt::format("{}_{}_{}_{}", s.pod_name, s.pod_namespace, s.pod_uid, s.attempt);
}

std::string FakeControls::World::NameOf(const std::string& uid, const Container& c) {
  return fmt::format("{}_{}_{}", c.name, uid, c.attempt);
}

int64_t FakeControls::World::NewTimestamp() {
  // A test may set the wall clock back further than the distance of two records.
  const int64_t wall = ToNanos(clock.WallNow());
  const bool stepped = wall + Duration{1s}.count() < last_timestamp;
  last_timestamp = stepped ? wall : std::max(last_timestamp + 1, wall);
  return last_timestamp;
}

std::string FakeControls::World::NewId(std::string_view kind) {
  ++last_id;
  std::string id;
  for (int part = 0; part < 4; ++part) id += HexHash(fmt::format("{} {} {}", kind, last_id, part));
  return id;
}

std::string FakeControls::World::PodUidOf(const Container& record) const {
  const auto sandbox = sandboxes.find(record.sandbox_id);
  if (sandbox != sandboxes.end()) return sandbox->second.record.pod_uid;
  const auto label = record.labels.find(std::string(kPodUidLabel));
  return label == record.labels.end() ? "" : label->second;
}

std::vector<std::string> FakeControls::World::AliasesOf(const std::string& uid,
                                                        const Sandbox* sandbox) const {
  for (auto it = sandboxes.begin(); sandbox == nullptr && it != sandboxes.end(); ++it) {
    if (it->second.record.pod_uid == uid) sandbox = &it->second.record;
  }
  std::vector<std::string> aliases{uid};
  if (sandbox == nullptr) return aliases;
  const std::string& name = sandbox->pod_name;
  aliases.push_back(name);
  const auto node = sandbox->annotations.find("splitlet.dev/node");
  if (node == sandbox->annotations.end()) return aliases;
  const std::string suffix = "-" + node->second.substr(node->second.rfind('/') + 1);
  if (name.ends_with(suffix)) aliases.push_back(name.substr(0, name.size() - suffix.size()));
  return aliases;
}

bool FakeControls::World::IsAbout(const std::string& pod, const std::string& uid,
                                  const Sandbox* sandbox) const {
  if (pod.empty()) return true;
  const auto aliases = AliasesOf(uid, sandbox);
  return std::find(aliases.begin(), aliases.end(), pod) != aliases.end();
}

void FakeControls::World::Emit(ContainerEvent::Kind kind, const std::string& id,
                               const std::string& uid) {
  if (drop_events > 0) {
    --drop_events;
    return;
  }
  const int copies = double_events > 0 ? 2 : 1;
  if (double_events > 0) --double_events;
  for (int copy = 0; copy < copies; ++copy) {
    for (const auto& [number, stream] : streams) {
      outbox.push_back({stream.subscriber, ContainerEvent{kind, id, uid}, OkStatus()});
    }
  }
}

void FakeControls::World::EndStreams(const Status& status) {
  for (const auto& [number, stream] : streams)
    outbox.push_back({stream.subscriber, std::nullopt, status});
  streams.clear();
}

void FakeControls::World::Tick() {
  const Clock::Time now = clock.Now();
  std::vector<std::pair<Clock::Time, ContainerId>> due;
  for (const auto& [id, entry] : containers) {
    if (entry.exit_due && *entry.exit_due <= now) due.emplace_back(*entry.exit_due, id);
  }
  std::sort(due.begin(), due.end());
  for (const auto& [when, id] : due) {
    ContainerEntry& entry = containers.at(id);
    Exit(entry, when, entry.due_code, entry.due_reason);
  }
}

std::optional<Clock::Time> FakeControls::World::NextDue() const {
  std::optional<Clock::Time> next;
  for (const auto& [id, entry] : containers) {
    if (entry.exit_due && (!next || *entry.exit_due < *next)) next = entry.exit_due;
  }
  return next;
}

StatusOr<SandboxId> FakeControls::World::AddSandbox(Sandbox record,
                                                    const std::string& log_directory) {
  const std::string name = NameOf(record);
  if (sandbox_names.contains(name)) return AlreadyExists("name {} is reserved", name);
  record.id = SandboxId(NewId("sandbox"));
  record.state = SandboxState::kReady;
  record.created_at_ns = NewTimestamp();
  if (!record.host_network)
    record.ips = {fmt::format("10.88.{}.{}", last_id / 250 % 250, last_id % 250 + 2)};
  sandbox_names[name] = record.id;
  const SandboxId id = record.id;
  const std::string uid = record.pod_uid;
  sandboxes[id] = {std::move(record), log_directory};
  Emit(ContainerEvent::Kind::kCreated, id.str(), uid);
  Emit(ContainerEvent::Kind::kStarted, id.str(), uid);
  return id;
}

void FakeControls::World::StopSandbox(SandboxEntry& sandbox) {
  if (sandbox.record.state == SandboxState::kNotReady) return;
  for (auto& [id, entry] : containers) {
    if (entry.record.sandbox_id == sandbox.record.id) Exit(entry, clock.Now(), kKilled, "Error");
  }
  sandbox.record.state = SandboxState::kNotReady;
  sandbox.record.ips.clear();
  Emit(ContainerEvent::Kind::kStopped, sandbox.record.id.str(), sandbox.record.pod_uid);
}

void FakeControls::World::RemoveSandbox(const SandboxId& id) {
  const auto found = sandboxes.find(id);
  if (found == sandboxes.end()) return;
  std::vector<ContainerId> inside;
  for (const auto& [container, entry] : containers) {
    if (entry.record.sandbox_id == id) inside.push_back(container);
  }
  if (found->second.record.state == SandboxState::kReady) {
    violations.push_back(fmt::format("removed sandbox {} of pod {} while it was ready", id,
                                     found->second.record.pod_uid));
  }
  for (const auto& container : inside) RemoveContainer(container);
  StopSandbox(found->second);
  const Sandbox record = found->second.record;
  sandbox_names.erase(NameOf(record));
  sandboxes.erase(found);
  Emit(ContainerEvent::Kind::kDeleted, id.str(), record.pod_uid);
}

StatusOr<ContainerId> FakeControls::World::AddContainer(const SandboxId& sandbox, Container record,
                                                        std::vector<Mount> mounts) {
  const auto home = sandboxes.find(sandbox);
  if (home == sandboxes.end()) return NotFound("no sandbox {}", sandbox);
  if (home->second.record.state != SandboxState::kReady) {
    return FailedPrecondition("sandbox {} is not running", sandbox);
  }
  const std::string& uid = home->second.record.pod_uid;
  const std::string name = NameOf(uid, record);
  if (container_names.contains(name)) return AlreadyExists("name {} is reserved", name);
  const Image* image = FindImage(record.image);
  if (image == nullptr) return NotFound("no image {}", record.image);
  const ContainerBehaviour behaviour = BehaviourOf(uid, record.name);
  if (!behaviour.create_error.ok()) return behaviour.create_error;

  record.id = ContainerId(NewId("container"));
  record.sandbox_id = sandbox;
  record.state = ContainerState::kCreated;
  record.created_at_ns = NewTimestamp();
  record.image_ref = image->digests.empty() ? image->id : image->digests.front();
  record.image_id = image->id;
  record.mounts = std::move(mounts);
  if (!record.log_path.empty())
    record.log_path = home->second.log_directory + "/" + record.log_path;
  const ContainerId id = record.id;
  container_names[name] = id;
  containers[id] = {std::move(record), behaviour};
  Emit(ContainerEvent::Kind::kCreated, id.str(), uid);
  return id;
}

const ContainerBehaviour& FakeControls::World::BehaviourOf(const std::string& uid,
                                                           const std::string& name) {
  static const ContainerBehaviour kDefault;
  std::vector<PodAndName> keys;
  for (const auto& alias : AliasesOf(uid, nullptr)) keys.push_back({alias, name});
  keys.push_back({"", name});
  for (const auto& alias : AliasesOf(uid, nullptr)) keys.push_back({alias, ""});
  keys.push_back({"", ""});
  for (const PodAndName& key : keys) {
    const auto found = behaviours.find(key);
    if (found == behaviours.end() || found->second.empty()) continue;
    const size_t turn = std::min(starts[{uid, name}], found->second.size() - 1);
    return found->second[turn];
  }
  return kDefault;
}

/// The runtime's state of a container that cannot be started.
void FakeControls::World::FailStart(ContainerEntry& entry, std::string why) {
  entry.record.state = ContainerState::kExited;
  entry.record.started_at_ns = entry.record.finished_at_ns = NewTimestamp();
  entry.record.exit_code = 128;
  entry.record.reason = "StartError";
  entry.record.message = std::move(why);
}

Status FakeControls::World::Start(const ContainerId& id) {
  const auto found = containers.find(id);
  if (found == containers.end()) return NotFound("no container {}", id);
  ContainerEntry& entry = found->second;
  if (entry.record.state != ContainerState::kCreated)
    return FailedPrecondition("container {} is not created", id);
  const std::string uid = PodUidOf(entry.record);
  const auto home = sandboxes.find(entry.record.sandbox_id);
  if (home == sandboxes.end() || home->second.record.state != SandboxState::kReady) {
    FailStart(entry, fmt::format("sandbox container {} is not running", entry.record.sandbox_id));
    return MakeStatus(StatusCode::kUnknown, "{}", entry.record.message);
  }
  ++starts[{uid, entry.record.name}];
  if (!entry.behaviour.start_error.ok()) {
    FailStart(entry, Message(entry.behaviour.start_error));
    return entry.behaviour.start_error;
  }
  for (const auto& [other_id, other] : containers) {
    if (other.record.state == ContainerState::kRunning && other.record.name == entry.record.name &&
        PodUidOf(other.record) == uid) {
      violations.push_back(
          fmt::format("two running containers {} in pod {}", entry.record.name, uid));
    }
  }
  entry.record.state = ContainerState::kRunning;
  entry.record.started_at_ns = NewTimestamp();
  if (entry.behaviour.exit_after) {
    entry.exit_due = clock.Now() + *entry.behaviour.exit_after;
    entry.due_code = entry.behaviour.exit_code;
    entry.due_reason = entry.behaviour.reason;
  }
  if (options.append_file && !entry.record.log_path.empty()) {
    options.append_file(entry.record.log_path, FormatRfc3339Micro(clock.WallNow()) + " stdout F " +
                                                   entry.record.name + " started\n");
  }
  Emit(ContainerEvent::Kind::kStarted, id.str(), uid);
  return OkStatus();
}

void FakeControls::World::BeginStop(ContainerEntry& entry, Duration grace) {
  const bool on_term = entry.behaviour.term_after && *entry.behaviour.term_after <= grace;
  const Clock::Time when = clock.Now() + (on_term ? *entry.behaviour.term_after : grace);
  if (entry.exit_due && *entry.exit_due <= when) return;
  entry.exit_due = when;
  entry.due_code = on_term ? entry.behaviour.term_code : kKilled;
  entry.due_reason.clear();
}

void FakeControls::World::Exit(ContainerEntry& entry, Clock::Time when, int32_t code,
                               const std::string& reason) {
  entry.exit_due.reset();
  if (entry.record.state != ContainerState::kRunning &&
      entry.record.state != ContainerState::kUnknown)
    return;
  ++exits;
  Container& record = entry.record;
  record.state = ContainerState::kExited;
  record.finished_at_ns =
      std::max(record.started_at_ns + 1, ToNanos(clock.WallNow() - (clock.Now() - when)));
  record.exit_code = code;
  record.reason = !reason.empty() ? reason : code == 0 ? "Completed" : "Error";
  record.message = entry.behaviour.message;
  if (exit_lag > Duration{0}) entry.shown_from = when + exit_lag;
  const auto path = record.annotations.find("io.kubernetes.container.terminationMessagePath");
  if (options.append_file && path != record.annotations.end() &&
      !entry.behaviour.termination_message.empty()) {
    for (const Mount& mount : record.mounts) {
      if (mount.container_path == path->second) {
        options.append_file(mount.host_path, entry.behaviour.termination_message);
      }
    }
  }
  Emit(ContainerEvent::Kind::kStopped, record.id.str(), PodUidOf(record));
}

void FakeControls::World::RemoveContainer(const ContainerId& id) {
  const auto found = containers.find(id);
  if (found == containers.end()) return;
  const std::string uid = PodUidOf(found->second.record);
  if (found->second.record.state == ContainerState::kRunning) {
    violations.push_back(
        fmt::format("removed running container {} of pod {}", found->second.record.name, uid));
    Exit(found->second, clock.Now(), kKilled, "Error");
  }
  container_names.erase(NameOf(uid, found->second.record));
  containers.erase(found);
  stats.erase(id);
  Emit(ContainerEvent::Kind::kDeleted, id.str(), uid);
}

Container FakeControls::World::Show(const ContainerEntry& entry) const {
  Container shown = entry.record;
  if (entry.shown_from && clock.Now() < *entry.shown_from) {
    shown.state = ContainerState::kRunning;
    shown.finished_at_ns = 0;
    shown.exit_code = 0;
    shown.reason.clear();
    shown.message.clear();
  }
  return shown;
}

bool FakeControls::World::IsRunning(const ContainerId& id) const {
  const auto found = containers.find(id);
  return found != containers.end() && (found->second.record.state == ContainerState::kRunning ||
                                       found->second.record.state == ContainerState::kUnknown);
}

const Image* FakeControls::World::FindImage(const std::string& name) const {
  const std::string normal = NormalImageName(name);
  for (const auto& [id, image] : images) {
    const auto has = [&normal](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), normal) != names.end();
    };
    if (id == name || has(image.tags) || has(image.digests)) return &image;
  }
  return nullptr;
}

const Image& FakeControls::World::StoreImage(const std::string& image, uint64_t size_bytes) {
  if (const Image* known = FindImage(image)) return *known;
  const std::string normal = NormalImageName(image);
  std::string hash;
  for (int part = 0; part < 4; ++part) hash += HexHash(fmt::format("{} {}", normal, part));
  Image made;
  made.id = "sha256:" + hash;
  made.size_bytes = size_bytes;
  if (normal.find('@') == std::string::npos) {
    made.tags = {normal};
    made.digests = {fmt::format("{}@{}", normal.substr(0, normal.rfind(':')), made.id)};
  } else {
    made.digests = {normal};
  }
  return images[made.id] = made;
}

std::string FakeControls::World::Save() const {
  std::string out;
  for (const auto& [id, entry] : sandboxes) {
    runtime::v1::PodSandboxStatusResponse pod;
    *pod.mutable_status() = ToProto(entry.record);
    (*pod.mutable_info())["log_directory"] = entry.log_directory;
    for (const auto& [container, inside] : containers) {
      if (inside.record.sandbox_id == id) *pod.add_containers_statuses() = ToProto(inside.record);
    }
    Append(pod, out);
  }
  runtime::v1::PodSandboxStatusResponse end;
  (*end.mutable_info())["last_id"] = std::to_string(last_id);
  Append(end, out);
  runtime::v1::ListImagesResponse list;
  for (const auto& [id, image] : images) *list.add_images() = ToProto(image);
  Append(list, out);
  return out;
}

Status FakeControls::World::Restore(const std::string& saved) {
  google::protobuf::io::ArrayInputStream in(saved.data(), static_cast<int>(saved.size()));
  while (true) {
    runtime::v1::PodSandboxStatusResponse pod;
    if (!ParseDelimitedFromZeroCopyStream(&pod, &in, nullptr))
      return DataLoss("the state is cut off");
    if (pod.info().contains("last_id")) {
      last_id = std::stoull(pod.info().at("last_id"));
      break;
    }
    const Sandbox sandbox = FromProto(pod.status());
    sandboxes[sandbox.id] = {sandbox, pod.info().at("log_directory")};
    sandbox_names[NameOf(sandbox)] = sandbox.id;
    for (const auto& status : pod.containers_statuses()) {
      const Container container = FromProto(status, sandbox.id);
      container_names[NameOf(sandbox.pod_uid, container)] = container.id;
      ContainerEntry entry{container, BehaviourOf(sandbox.pod_uid, container.name)};
      if (container.state == ContainerState::kRunning && entry.behaviour.exit_after) {
        entry.exit_due = clock.Now() + *entry.behaviour.exit_after;
        entry.due_code = entry.behaviour.exit_code;
      }
      last_timestamp = std::max(last_timestamp, container.created_at_ns);
      containers[container.id] = std::move(entry);
    }
  }
  runtime::v1::ListImagesResponse list;
  if (!ParseDelimitedFromZeroCopyStream(&list, &in, nullptr))
    return DataLoss("the state is cut off");
  for (const auto& image : list.images()) {
    Image made;
    made.id = image.id();
    made.tags.assign(image.repo_tags().begin(), image.repo_tags().end());
    made.digests.assign(image.repo_digests().begin(), image.repo_digests().end());
    made.size_bytes = image.size();
    images[made.id] = made;
  }
  return OkStatus();
}

}  // namespace splitlet::cri
