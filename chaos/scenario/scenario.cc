#include "chaos/scenario/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "chaos/scenario/fields.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/processes.h"
#include "libs/kube/codec.h"
#include "libs/kube/names.h"
#include "libs/kube/static_pod.h"

namespace splitlet::chaos {
namespace {

constexpr size_t kMaxBytes = 1u << 20;
constexpr size_t kMaxItems = 500;
constexpr int kMaxPods = 1000;
constexpr const char* kImage = "splitlet.local/busybox:1";
constexpr auto kFolders =
    std::to_array<std::string_view>({"state", "run", "log", "manifests", "kubelet"});

struct KindName {
  FaultKind kind;
  std::string_view name;
};
constexpr auto kKinds = std::to_array<KindName>({
    {FaultKind::kKill, "kill"},
    {FaultKind::kPause, "pause"},
    {FaultKind::kDown, "down"},
    {FaultKind::kRestart, "restart"},
    {FaultKind::kFailPoint, "failPoint"},
    {FaultKind::kSlowRuntime, "slowRuntime"},
    {FaultKind::kLoseMessages, "loseMessages"},
    {FaultKind::kDelayMessages, "delayMessages"},
    {FaultKind::kClockJump, "clockJump"},
    {FaultKind::kPartition, "partition"},
    {FaultKind::kFillDisk, "fillDisk"},
    {FaultKind::kLimitMemory, "limitMemory"},
    {FaultKind::kHangPod, "hangPod"},
    {FaultKind::kEndContainer, "endContainer"},
    {FaultKind::kRemoveContainer, "removeContainer"},
    {FaultKind::kBreakManifest, "breakManifest"},
    {FaultKind::kTakePort, "takePort"},
    {FaultKind::kFlood, "flood"},
    {FaultKind::kCollect, "collect"},
    {FaultKind::kUpgrade, "upgrade"},
    {FaultKind::kReboot, "reboot"},
    {FaultKind::kServerAnswers, "serverAnswers"},
    {FaultKind::kEndWatches, "endWatches"},
});

/// Answers of the server that a scenario can set, and ways to end watches.
constexpr auto kAnswers =
    std::to_array<std::string_view>({"401", "403", "409", "429", "500", "503", "504", "drop",
                                     "lose", "hang", "garbage", "no-page"});
constexpr auto kWatchEnds = std::to_array<std::string_view>({"closed", "expired"});

template <class Names>
std::string Joined(const Names& names) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

/// True if the fault has a duration.
bool Lasts(FaultKind kind) {
  switch (kind) {
    case FaultKind::kKill:
    case FaultKind::kRestart:
    case FaultKind::kEndContainer:
    case FaultKind::kRemoveContainer:
    case FaultKind::kCollect:
    case FaultKind::kReboot:
    case FaultKind::kEndWatches: return false;
    case FaultKind::kPause:
    case FaultKind::kDown:
    case FaultKind::kFailPoint:
    case FaultKind::kSlowRuntime:
    case FaultKind::kLoseMessages:
    case FaultKind::kDelayMessages:
    case FaultKind::kClockJump:
    case FaultKind::kPartition:
    case FaultKind::kFillDisk:
    case FaultKind::kLimitMemory:
    case FaultKind::kHangPod:
    case FaultKind::kBreakManifest:
    case FaultKind::kTakePort:
    case FaultKind::kFlood:
    case FaultKind::kUpgrade:
    case FaultKind::kServerAnswers: return true;
  }
  UNREACHABLE();
}

class Parser {
 public:
  Parser(std::string file, const ReadFile& read) : problem_(std::move(file)), read_(read) {
    scenario_.file = problem_.file();
  }

  StatusOr<Scenario> Parse(const YAML::Node& document) {
    Fields fields(document, "", problem_);
    fields.Read("name", scenario_.name);
    fields.Read("about", scenario_.about);
    int64_t seed = 1;
    fields.ReadNumber("seed", 0, INT64_MAX, seed);
    scenario_.seed = static_cast<uint64_t>(seed);
    fields.Read("duration", scenario_.duration);
    fields.Read("apiServer", scenario_.api_server);
    if (scenario_.name.empty()) fields.Wrong("name", "required");
    if (scenario_.duration == Duration{0}) fields.Wrong("duration", "must be above 0");
    ReadPods(fields);
    const auto load = Items(fields, "load");
    for (size_t i = 0; i < load.size(); ++i) ReadLoad(load[i], fmt::format("load[{}]", i));
    const auto faults = Items(fields, "faults");
    for (size_t i = 0; i < faults.size(); ++i) ReadFault(faults[i], fmt::format("faults[{}]", i));
    if (const YAML::Node limits = fields.Child("limits"); limits.IsDefined()) ReadLimits(limits);
    fields.Finish();
    if (!problem_.ok()) return problem_.status();
    return std::move(scenario_);
  }

 private:
  std::vector<YAML::Node> Items(Fields& fields, const std::string& key) {
    auto items = fields.List(key);
    if (items.size() > kMaxItems) fields.Wrong(key, fmt::format("more than {} entries", kMaxItems));
    if (items.size() > kMaxItems) items.clear();
    return items;
  }
  void ReadPods(Fields& fields);
  void ReadPod(const YAML::Node& node, const std::string& path);
  void ReadScript(Fields& fields, PodTemplate& pod);
  static void AddSidecars(const PodTemplate& pod, kube::PodSpec& spec);
  void ReadManifest(Fields& fields, PodTemplate& pod);
  void ReadLoad(const YAML::Node& node, const std::string& path);
  void ReadFault(const YAML::Node& node, const std::string& path);
  void ReadWhen(Fields& fields, When& when);
  void ReadLasting(Fields& fields, Fault& fault);
  void ReadWhat(Fields& fields, Fault& fault);
  void ReadFailPoint(Fields& fields, Fault& fault);
  void ReadServices(Fields& fields, const std::string& key, Fault& fault);
  std::vector<std::string> AllowedServices(FaultKind kind) const;
  void ReadAnswers(Fields& fields, const std::string& key, Fault& fault);
  void ReadTemplates(Fields& fields, const std::string& key, Fault& fault);
  void ReadLimits(const YAML::Node& node);
  const PodTemplate* Find(const std::string& name) const {
    const auto found = std::ranges::find(scenario_.pods, name, &PodTemplate::name);
    return found == scenario_.pods.end() ? nullptr : &*found;
  }

  Problem problem_;
  const ReadFile& read_;
  Scenario scenario_;
};

void Parser::ReadPods(Fields& fields) {
  const auto pods = Items(fields, "pods");
  if (pods.empty()) fields.Wrong("pods", "required: at least one");
  int total = 0;
  for (size_t i = 0; i < pods.size() && problem_.ok(); ++i) {
    ReadPod(pods[i], fmt::format("pods[{}]", i));
    total += scenario_.pods.back().count;
  }
  if (total > kMaxPods) fields.Wrong("pods", fmt::format("more than {} pods", kMaxPods));
}

void Parser::ReadPod(const YAML::Node& node, const std::string& path) {
  PodTemplate& pod = scenario_.pods.emplace_back();
  Fields fields(node, path, problem_);
  fields.Read("name", pod.name);
  if (pod.name.empty()) fields.Wrong("name", "required");
  if (const auto wrong = kube::CheckDnsLabel(pod.name); !pod.name.empty() && !wrong.empty())
    fields.Wrong("name", wrong);
  if (std::ranges::count(scenario_.pods, pod.name, &PodTemplate::name) > 1)
    fields.Wrong("name", pod.name + " is a duplicate");
  int64_t count = 1;
  fields.ReadNumber("count", 1, kMaxPods, count);
  pod.count = static_cast<int>(count);
  fields.Read("start", pod.at_start);
  fields.Read("sameUid", pod.same_uid);
  fields.Read("unharmed", pod.unharmed);
  fields.Read("api", pod.api);
  if (pod.api && !scenario_.api_server) fields.Wrong("api", "the scenario needs apiServer: true");
  if (pod.api && pod.same_uid)
    fields.Wrong("sameUid", "want false: the API server gives each pod its own UID");
  fields.Read("forced", pod.forced);
  if (pod.forced && !pod.api) fields.Wrong("forced", "needs api: true");
  static constexpr auto kEnds =
      std::to_array<std::pair<std::string_view, Ends>>({{"running", Ends::kRuns},
                                                        {"succeeded", Ends::kSucceeds},
                                                        {"failed", Ends::kFails},
                                                        {"restarting", Ends::kRestarts}});
  std::string ends = "running";
  fields.Read("expect", ends);
  const auto found = std::ranges::find(kEnds, ends, &std::pair<std::string_view, Ends>::first);
  if (found == kEnds.end())
    fields.Wrong("expect", ends + ": want running, succeeded, failed or restarting");
  else
    pod.ends = found->second;
  const int ways = static_cast<int>(fields.Has("run")) + static_cast<int>(fields.Has("manifest")) +
                   static_cast<int>(fields.Has("file"));
  if (ways != 1) fields.Wrong("run", "want exactly one of run, manifest and file");
  if (fields.Has("run"))
    ReadScript(fields, pod);
  else
    ReadManifest(fields, pod);
  fields.Finish();
}

void Parser::ReadScript(Fields& fields, PodTemplate& pod) {
  auto made = std::make_shared<kube::Pod>();
  fields.Read("run", pod.script);
  fields.Read("ignoresTerm", pod.ignores_term);
  Duration grace = 2s;
  fields.Read("grace", grace);
  std::string policy = pod.ends == Ends::kSucceeds || pod.ends == Ends::kFails ? "Never" : "Always";
  fields.Read("restartPolicy", policy);
  if (policy != "Always" && policy != "OnFailure" && policy != "Never")
    fields.Wrong("restartPolicy", policy + ": want Always, OnFailure or Never");
  const auto read_number = [&fields](const char* key, int64_t high, int& value) {
    int64_t number = 0;
    fields.ReadNumber(key, 0, high, number);
    value = static_cast<int>(number);
  };
  read_number("sidecars", 10, pod.sidecars);
  read_number("cpuPercent", 100, pod.cpu_percent);
  read_number("hostPort", 65535, pod.host_port);
  fields.Read("probed", pod.probed);
  fields.Read("hooked", pod.hooked);
  fields.Read("volumes", pod.volumes);
  auto& spec = *made->mutable_spec();
  spec.set_restart_policy(policy);
  spec.set_termination_grace_period_seconds(grace / 1s);
  auto& container = *spec.add_containers();
  container.set_name("app");
  std::string image = kImage;
  fields.Read("image", image);
  container.set_image(image);
  if (pod.host_port != 0) {
    container.add_ports()->set_container_port(pod.host_port);
    container.mutable_ports(0)->set_host_port(pod.host_port);
  }
  AddSidecars(pod, spec);
  pod.pod = std::move(made);
}

void Parser::AddSidecars(const PodTemplate& pod, kube::PodSpec& spec) {
  for (int i = 0; i < pod.sidecars; ++i) {
    auto& sidecar = *spec.add_init_containers();
    sidecar.set_name(fmt::format("side-{}", i));
    sidecar.set_image(kImage);
    sidecar.set_restart_policy("Always");
    for (const auto* word :
         {"/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"})
      sidecar.add_command(word);
  }
}

void Parser::ReadManifest(Fields& fields, PodTemplate& pod) {
  std::string text, file;
  fields.Read("manifest", text);
  fields.Read("file", file);
  auto made = std::make_shared<kube::Pod>();
  pod.pod = made;
  if (!file.empty()) {
    auto content = read_(file);
    if (!content.ok()) return fields.Wrong("file", file + ": " + Message(content.status()));
    text = *std::move(content);
  }
  if (text.empty()) return;
  const std::string key = file.empty() ? "manifest" : "file";
  const auto decoded =
      kube::Decode(text, file.empty() ? "manifest" : file, kube::Strictness::kStrict);
  if (!decoded.ok()) return fields.Wrong(key, Message(decoded.status()));
  const auto given = decoded->As<kube::Pod>();
  if (given == nullptr) return fields.Wrong(key, "want kind Pod, found " + decoded->kind);
  *made = *given;
  kube::Pod complete = *made;
  if (complete.metadata().name().empty()) complete.mutable_metadata()->set_name(pod.name);
  const Status valid = kube::CompleteStaticPod(
      complete, {.source = "file", .node_name = "node", .location = "manifest"});
  if (!valid.ok()) fields.Wrong(key, Message(valid));
}

void Parser::ReadWhen(Fields& fields, When& when) {
  const bool once = fields.Has("at"), again = fields.Has("every");
  if (once == again) fields.Wrong(once ? "every" : "at", "want exactly one of at and every");
  if (once) {
    fields.Read("at", when.first);
    if (when.first >= scenario_.duration) fields.Wrong("at", "is not before the end (duration)");
    return;
  }
  Range every;
  fields.Read("every", every);
  if (every.low < 50ms) fields.Wrong("every", "is below 50ms");
  when.every_low = every.low;
  when.every_high = every.high;
  fields.Read("from", when.first);
  fields.Read("until", when.until);
  if (when.until != Duration{0} && when.until <= when.first)
    fields.Wrong("until", "is not after from");
  if (when.first >= scenario_.duration) fields.Wrong("from", "is not before the end (duration)");
}

void Parser::ReadLoad(const YAML::Node& node, const std::string& path) {
  Load load;
  Fields fields(node, path, problem_);
  ReadWhen(fields, load.when);
  using Kind = Load::Kind;
  static constexpr auto kNames =
      std::to_array<std::pair<const char*, Kind>>({{"create", Kind::kCreate},
                                                   {"delete", Kind::kDelete},
                                                   {"update", Kind::kUpdate},
                                                   {"wave", Kind::kWave}});
  int ways = 0;
  for (const auto& [name, kind] : kNames) {
    if (!fields.Has(name)) continue;
    ++ways;
    fields.Read(name, load.pods);
    load.kind = kind;
    const PodTemplate* found = Find(load.pods);
    if (found == nullptr)
      fields.Wrong(name, "there is no entry of pods with name " + load.pods);
    else if (kind == Kind::kUpdate && found->api)
      fields.Wrong(name, load.pods + " is a pod of the API server, which cannot be updated");
  }
  if (ways != 1) fields.Wrong("", "want exactly one of create, delete, update and wave");
  int64_t batch = 1;
  fields.ReadNumber("batch", 1, kMaxPods, batch);
  load.batch = static_cast<int>(batch);
  fields.Finish();
  scenario_.load.push_back(load);
}

void Parser::ReadServices(Fields& fields, const std::string& key, Fault& fault) {
  fields.Read(key, fault.targets);
  if (fault.targets.size() == 1 && (fault.targets[0] == "any" || fault.targets[0] == "all")) {
    fault.all_targets = fault.targets[0] == "all";
    fault.targets = Processes();
    return;
  }
  const auto allowed = AllowedServices(fault.kind);
  for (const auto& target : fault.targets)
    if (std::ranges::find(allowed, target) == allowed.end())
      fields.Wrong(key, fmt::format("{} is not a process: want any, all or one of {}", target,
                                    Joined(allowed)));
}

std::vector<std::string> Parser::AllowedServices(FaultKind kind) const {
  std::vector<std::string> allowed = Processes();
  const bool whole = kind == FaultKind::kKill || kind == FaultKind::kPause ||
                     kind == FaultKind::kDown || kind == FaultKind::kRestart;
  if (whole || kind == FaultKind::kTakePort) allowed.insert(allowed.end(), {"nats", "containerd"});
  if (scenario_.api_server && (whole || kind == FaultKind::kPartition))
    allowed.emplace_back(kApiServer);
  if (scenario_.api_server && whole) allowed.emplace_back(kNodeApi);
  return allowed;
}

void Parser::ReadAnswers(Fields& fields, const std::string& key, Fault& fault) {
  fault.targets = {kApiServer};
  fields.Read(key, fault.answers);
  if (!scenario_.api_server) fields.Wrong(key, "the scenario needs apiServer: true");
  const auto check = [&](const auto& known) {
    for (const auto& answer : fault.answers)
      if (std::ranges::find(known, answer) == known.end())
        fields.Wrong(key, fmt::format("{}: want one of {}", answer, Joined(known)));
  };
  if (fault.kind == FaultKind::kServerAnswers)
    check(kAnswers);
  else
    check(kWatchEnds);
}

void Parser::ReadTemplates(Fields& fields, const std::string& key, Fault& fault) {
  fields.Read(key, fault.targets);
  for (const auto& target : fault.targets)
    if (const PodTemplate* found = Find(target); found == nullptr)
      fields.Wrong(key, "there is no entry of pods with name " + target);
    else if (fault.kind == FaultKind::kBreakManifest && found->api)
      fields.Wrong(key, target + " has no manifest");
}

void Parser::ReadFailPoint(Fields& fields, Fault& fault) {
  const YAML::Node node = fields.Child("failPoint");
  if (!node.IsDefined()) return;
  Fields inner(node, fields.PathOf("failPoint"), problem_);
  ReadServices(inner, "process", fault);
  inner.Read("name", fault.point);
  inner.Read("term", fault.term);
  if (fault.targets.empty()) inner.Wrong("process", "required");
  if (fault.point.empty()) inner.Wrong("name", "required");
  splitlet::FailPoints judge;  // parses the term as a process would
  if (const Status valid = judge.Set(fault.point, fault.term); !valid.ok() && problem_.ok())
    inner.Wrong("term", Message(valid));
  inner.Finish();
}

void Parser::ReadWhat(Fields& fields, Fault& fault) {
  const std::string key(NameOf(fault.kind));
  switch (fault.kind) {
    case FaultKind::kKill:
    case FaultKind::kPause:
    case FaultKind::kDown:
    case FaultKind::kRestart:
    case FaultKind::kPartition:
    case FaultKind::kTakePort:
    case FaultKind::kFlood:
    case FaultKind::kUpgrade: return ReadServices(fields, key, fault);
    case FaultKind::kFailPoint: return ReadFailPoint(fields, fault);
    case FaultKind::kSlowRuntime: fault.targets = {"pod-worker", "pleg", "gc"}; break;
    case FaultKind::kDelayMessages:
    case FaultKind::kLoseMessages:
    case FaultKind::kClockJump:
    case FaultKind::kLimitMemory:
      ReadServices(fields, "of", fault);
      if (fault.targets.empty()) fields.Wrong("of", "required");
      break;
    case FaultKind::kFillDisk:
      fields.Read(key, fault.targets);
      for (const auto& folder : fault.targets)
        if (std::ranges::find(kFolders, folder) == kFolders.end())
          fields.Wrong(key, folder + ": want one of " + Joined(kFolders));
      return;
    case FaultKind::kHangPod:
    case FaultKind::kEndContainer:
    case FaultKind::kRemoveContainer:
    case FaultKind::kBreakManifest: return ReadTemplates(fields, key, fault);
    case FaultKind::kCollect:
    case FaultKind::kReboot: {
      bool yes = false;
      fields.Read(key, yes);
      if (!yes) fields.Wrong(key, "want true");
      fault.targets = {"node"};
      return;
    }
    case FaultKind::kServerAnswers:
    case FaultKind::kEndWatches: return ReadAnswers(fields, key, fault);
  }
  if (fault.kind == FaultKind::kLoseMessages)
    fields.ReadPercent(key, fault.percent);
  else if (fault.kind == FaultKind::kLimitMemory)
    fields.ReadBytes(key, fault.bytes);
  else if (fault.kind == FaultKind::kClockJump)
    fields.ReadJump(key, fault.jump);
  else
    fields.Read(key, fault.delay);
}

void Parser::ReadLasting(Fields& fields, Fault& fault) {
  Range lasting;
  fields.Read("for", lasting);
  if (!Lasts(fault.kind) && fields.Has("for"))
    fields.Wrong("for", fmt::format("{} has no duration: remove for", NameOf(fault.kind)));
  if (Lasts(fault.kind) && lasting.low == Duration{0})
    fields.Wrong("for", fmt::format("required: {} needs a duration", NameOf(fault.kind)));
  fault.lasting_low = lasting.low;
  fault.lasting_high = lasting.high;
}

void Parser::ReadFault(const YAML::Node& node, const std::string& path) {
  Fault fault;
  Fields fields(node, path, problem_);
  fault.line = fields.line() + 1;
  ReadWhen(fields, fault.when);
  int ways = 0;
  std::string names;
  for (const auto& [kind, name] : kKinds) {
    names.append(names.empty() ? "" : ", ").append(name);
    if (!fields.Has(std::string(name))) continue;
    ++ways;
    fault.kind = kind;
  }
  if (ways == 0) {
    // The error names the unknown word.
    fields.Read("for", fault.term), fields.Read("of", fault.term);
    fields.Finish();
    return problem_.Set(path, "want exactly one of " + names, fields.line());
  }
  if (ways > 1) return problem_.Set(path, "want exactly one of " + names, fields.line());
  ReadWhat(fields, fault);
  ReadLasting(fields, fault);
  fields.Finish();
  scenario_.faults.push_back(std::move(fault));
}

void Parser::ReadLimits(const YAML::Node& node) {
  Limits& limits = scenario_.limits;
  Fields fields(node, "limits", problem_);
  fields.Read("settle", limits.settle);
  fields.Read("back", limits.back);
  fields.Read("grace", limits.grace);
  fields.ReadBytes("memory", limits.memory_bytes);
  int64_t descriptors = limits.descriptors;
  fields.ReadNumber("descriptors", 1, 1'000'000, descriptors);
  limits.descriptors = static_cast<int>(descriptors);
  int64_t events = limits.events;
  fields.ReadNumber("events", 1, 1'000'000, events);
  limits.events = static_cast<int>(events);
  fields.Finish();
}

}  // namespace

std::string_view NameOf(FaultKind kind) {
  for (const auto& [k, name] : kKinds)
    if (k == kind) return name;
  UNREACHABLE();
}

const std::vector<std::string>& Processes() { return ProcessNames(); }

const std::vector<std::string>& Services() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names = ProcessNames();
    names.insert(names.end(), {"nats", "containerd", kNodeApi, kApiServer});
    return names;
  }();
  return all;
}

StatusOr<Scenario> ParseScenario(const std::string& text, const std::string& file,
                                 const ReadFile& read) {
  if (text.size() > kMaxBytes) return InvalidArgument("{}: is above 1 MiB", file);
  if (text.find('\0') != std::string::npos) return InvalidArgument("{}: is not text", file);
  try {
    const YAML::Node document = YAML::Load(text);
    if (document.IsNull()) return InvalidArgument("{}: is empty", file);
    return Parser(file, read).Parse(document);
  } catch (const YAML::Exception& error) {
    return InvalidArgument("{}: {} (line {})", file, error.msg, error.mark.line + 1);
  }
}

}  // namespace splitlet::chaos
