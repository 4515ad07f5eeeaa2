#include "ctl/commands/doctor.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "ctl/bus/bus_source.h"
#include "ctl/show/processes.h"
#include "libs/base/one_line.h"
#include "libs/operate/bus_text.h"
#include "libs/operate/caller.h"
#include "libs/operate/flight_recorder.h"
#include "libs/operate/layout.h"
#include "libs/operate/process_view.h"
#include "libs/operate/text.h"
#include "libs/rpc/rpc.h"
#include "runtime/v1/api.grpc.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::ctl {
namespace {

using Grade = Finding::Grade;
constexpr Duration kCallLimit = 3s;
constexpr const char* kConfigSource = "config-source";

Finding ExamineUser(const operate::Layout& layout) {
  const std::string caller = operate::CallerText();
  const Status may = operate::CheckMay(operate::Use::kRead, layout.run_dir, layout.run_dir);
  if (may.ok()) return {Grade::kOk, "user", caller, ""};
  return {Grade::kBad, "user", caller + " may not read " + layout.run_dir, operate::kWhoMayAsk};
}

Finding ExamineKernel() {
  utsname name{};
  if (uname(&name) != 0) return {Grade::kNote, "kernel", "uname fails", "see dmesg"};
  return {Grade::kOk, "kernel", fmt::format("{} {}", name.sysname, name.release), ""};
}

Finding ExamineCgroups() {
  std::error_code error;
  return JudgeCgroups(std::filesystem::exists("/sys/fs/cgroup/cgroup.controllers", error),
                      std::filesystem::exists("/sys/fs/cgroup/memory", error));
}

Finding ExamineDisk(const std::string& directory) {
  struct statvfs usage {};
  if (statvfs(directory.c_str(), &usage) != 0)
    return {Grade::kNote, "disk", fmt::format("{}: {}", directory, Message(ErrnoStatus(errno))),
            "start the stack, which creates this folder"};
  return JudgeDisk(directory, usage.f_blocks * usage.f_frsize, usage.f_bavail * usage.f_frsize);
}

void ExamineBus(const operate::Client& client, std::vector<Finding>& findings) {
  const auto bus = CheckBus(client.layout().bus);
  if (!bus.ok()) return findings.push_back(JudgeNoBus(bus.status()));
  findings.push_back({Grade::kOk, "bus", *bus, ""});
  const RealClock clock;
  bool any = false;
  const Status recorder = operate::ReadRecorderFiles(
      client.layout().recorder, clock.WallNow() - 10s, [&any](const operate::BusMessage&) {
        any = true;
        return false;
      });
  if (!recorder.ok())
    findings.push_back({Grade::kNote, "recorder", Message(recorder),
                        "start its service: splitletctl recorder run"});
  else if (!any)
    findings.push_back({Grade::kNote, "recorder", "nothing recorded in the last 10 s",
                        "check that the service recorder and the processes run"});
  else
    findings.push_back({Grade::kOk, "recorder", "records", ""});
}

/// The runtime's version and conditions, from the runtime's own answers.
Finding ExamineRuntime(const std::string& endpoint, const Clock& clock) {
  constexpr const char* kName = "runtime";
  const std::string path = endpoint.starts_with("unix://") ? endpoint.substr(7) : endpoint;
  struct stat socket {};
  if (stat(path.c_str(), &socket) != 0) return JudgeNoSocket(path, errno);
  if (!operate::CheckMay(operate::Use::kConnect, path, kName).ok())
    return JudgeNoSocket(path, EACCES);
  const auto stub = runtime::v1::RuntimeService::NewStub(rpc::ConnectEndpoint("unix:" + path));
  runtime::v1::VersionResponse version;
  rpc::ClientCall call(clock, After(clock, kCallLimit));
  const Status asked = rpc::FromGrpc(stub->Version(&call.context(), {}, &version));
  if (!asked.ok())
    return {Grade::kBad, kName, fmt::format("{}: {}", endpoint, Message(asked)),
            asked.code() == StatusCode::kDeadlineExceeded
                ? "the runtime accepts connections but hangs: see its log, then restart it"
                : "check that its CRI plugin is on and that this user may use the socket"};
  runtime::v1::StatusResponse status;
  rpc::ClientCall second(clock, After(clock, kCallLimit));
  const Status answered = rpc::FromGrpc(stub->Status(&second.context(), {}, &status));
  for (const auto& condition : status.status().conditions())
    if (!condition.status())
      return {Grade::kBad, kName,
              fmt::format("{} {}: {} is false: {} {}", version.runtime_name(),
                          version.runtime_version(), condition.type(), condition.reason(),
                          condition.message()),
              condition.type() == "NetworkReady"
                  ? "put a CNI configuration into the runtime's folder"
                  : "see its log"};
  if (!answered.ok()) return {Grade::kNote, kName, Message(answered), "see the runtime's log"};
  return {Grade::kOk, kName,
          fmt::format("{} {}", version.runtime_name(), version.runtime_version()), ""};
}

void ExamineSources(const operate::Client& client, std::vector<Finding>& findings) {
  const auto sources = client.GetSources();
  if (!sources.ok()) return;  // the process has just ended
  for (const auto& source : (*sources)->sources()) {
    for (const auto& problem : source.problems())
      findings.push_back({Grade::kBad, "source " + source.name(),
                          problem.where() + ": " + ReasonOf(problem),
                          "correct it: what cannot be used keeps its last good pod, an unknown "
                          "field is removed"});
    if (!source.complete())
      findings.push_back({Grade::kNote, "source " + source.name(),
                          "not complete: " + source.reason(),
                          "make the path readable; until then no pod of this source is removed"});
  }
}

/// A note that begins with a path is about a file in pod-worker's folder of objects.
std::string WhatToDoAbout(std::string_view note) {
  if (note.starts_with("metrics are not served"))
    return "free the port (ss -ltnp shows the program that uses it); the process tries again every "
           "few seconds";
  if (note.starts_with("--node-ip"))
    return "give --node-ip an address that an interface has, or leave it out";
  if (note.starts_with('/'))
    return "correct the file; until then its last valid content is used "
           "(docs/behaviour/objects.md)";
  return "see its log; docs/safety.md, rule 27";
}

}  // namespace

Finding JudgeCgroups(bool unified, bool legacy) {
  if (unified) return {Grade::kOk, "cgroups", "version 2", ""};
  if (legacy)
    return {Grade::kNote, "cgroups", "version 1", "boot with systemd.unified_cgroup_hierarchy=1"};
  return {Grade::kBad, "cgroups", "none mounted at /sys/fs/cgroup",
          "mount -t cgroup2 none /sys/fs/cgroup"};
}

Finding JudgeDisk(const std::string& directory, uint64_t capacity_bytes, uint64_t available_bytes) {
  const uint64_t percent = capacity_bytes == 0 ? 0 : available_bytes * 100 / capacity_bytes;
  const std::string found =
      fmt::format("{}: {} of {} free ({}%)", directory, operate::HumanBytes(available_bytes),
                  operate::HumanBytes(capacity_bytes), percent);
  if (percent < 5) return {Grade::kBad, "disk", found, "free disk space; pods may be evicted"};
  if (percent < 15) return {Grade::kNote, "disk", found, "unused images are removed at this level"};
  return {Grade::kOk, "disk", found, ""};
}

Finding JudgeNoSocket(const std::string& path, int error) {
  if (error == EACCES)
    return {Grade::kNote, "runtime", fmt::format("this user may not use {}", path),
            "run as root to check the runtime too"};
  return {Grade::kBad, "runtime", fmt::format("no socket {}", path), "start containerd or CRI-O"};
}

Finding JudgeNoBus(const Status& status) {
  if (status.code() == StatusCode::kPermissionDenied)
    return {Grade::kNote, "bus", Message(status), "run as root to check the bus too"};
  if (status.code() == StatusCode::kUnauthenticated)
    return {Grade::kBad, "bus", Message(status),
            "password or CA differ from those of the bus: start the stack again"};
  return {Grade::kBad, "bus", Message(status),
          "start nats-server; until then the processes poll each other"};
}

Finding JudgeFaults(const std::string& process, const v1::FaultList& faults) {
  std::string armed;
  for (const v1::Fault& fault : faults.faults())
    if (fault.term() != "off")
      armed += fmt::format("{}{} = {}", armed.empty() ? "" : ", ", fault.name(), fault.term());
  if (armed.empty()) return {Grade::kOk, process, "no fail point is armed", ""};
  return {Grade::kNote, process, "fail points are armed: " + armed,
          fmt::format("splitletctl fault clear {}", process)};
}

Finding JudgeProcess(const operate::ProcessView& view, bool compose) {
  if (view.refused) return {Grade::kBad, view.name, view.problem, operate::kWhoMayAsk};
  if (view.info == nullptr && view.listens)
    return {Grade::kBad, view.name, view.problem,
            fmt::format(
                "the process listens but does not answer: splitletctl process cont {0} if it was "
                "stopped, else splitletctl process kill {0}",
                view.name)};
  if (view.info == nullptr)
    return {
        Grade::kBad, view.name, view.problem,
        compose
            ? "see docker compose logs; docker compose up -d starts a container that was killed "
              "or stopped"
            : "see its log; its supervisor starts it again"};
  const v1::ProcessInfo& info = *view.info;
  if (!info.live())
    return {Grade::kBad, view.name, info.reason(),
            fmt::format("see its log, then splitletctl process kill {}: its supervisor starts it "
                        "again",
                        view.name)};
  if (!info.ready())
    return {Grade::kBad, view.name, "not ready: " + info.reason(),
            compose ? "see docker compose logs; if its network is gone: docker compose up -d "
                      "--force-recreate, which ends the pods and starts them again"
                    : "see its log"};
  if (info.restarts() >= 5)
    return {Grade::kNote, view.name,
            fmt::format("runs, but was restarted {} times", info.restarts()), "see its log"};
  if (!info.bus_connected())
    return {Grade::kNote, view.name, "runs without the bus",
            compose
                ? "see docker compose ps; docker compose up -d starts nats; else see the log of "
                  "nats"
                : "see its log: its password and the CA must be those of the bus"};
  return {Grade::kOk, view.name, "runs", ""};
}

std::vector<Finding> NotesOf(const operate::ProcessView& view) {
  std::vector<Finding> findings;
  if (view.info == nullptr) return findings;
  for (const std::string& note : view.info->notes())
    findings.push_back({Grade::kNote, view.name, note, WhatToDoAbout(note)});
  return findings;
}

std::vector<Finding> Examine(const operate::Client& client, const std::string& runtime_endpoint) {
  std::vector<Finding> findings = {ExamineUser(client.layout()), ExamineKernel(), ExamineCgroups(),
                                   ExamineDisk(client.layout().state_dir),
                                   ExamineRuntime(runtime_endpoint, client.clock())};
  if (const operate::Layout& layout = client.layout(); layout.stopped) {
    findings.push_back({Grade::kBad, "stack", "the stack in " + layout.top + " is stopped",
                        layout.compose ? "docker compose up" : "make run"});
    return findings;
  }
  ExamineBus(client, findings);
  bool has_sources = false;
  for (const operate::ProcessView& view : client.ListProcesses()) {
    findings.push_back(JudgeProcess(view, client.layout().compose));
    std::ranges::move(NotesOf(view), std::back_inserter(findings));
    if (view.info == nullptr) continue;
    has_sources = has_sources || view.name == kConfigSource;
    if (const auto faults = client.ListFaults(view.name); faults.ok())
      if (Finding armed = JudgeFaults(view.name, **faults); armed.grade != Grade::kOk)
        findings.push_back(std::move(armed));
  }
  if (has_sources) ExamineSources(client, findings);
  return findings;
}

std::string DoctorText(const std::vector<Finding>& findings) {
  std::string text;
  int notes = 0, bad = 0;
  for (const Finding& finding : findings) {
    const char* mark = "ok  ";
    if (finding.grade == Grade::kNote) mark = "note", ++notes;
    if (finding.grade == Grade::kBad) mark = "BAD ", ++bad;
    text += OneLine(fmt::format("{}  {:14}  {}", mark, finding.what, finding.found)) + "\n";
    if (finding.grade != Grade::kOk) text += fmt::format("      {:14}  -> {}\n", "", finding.to_do);
  }
  return text + fmt::format("\n{} checks, {} bad, {} notes\n", findings.size(), bad, notes);
}

}  // namespace splitlet::ctl
