#include "ctl/commands/admin.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "ctl/commands/doctor.h"
#include "ctl/show/processes.h"
#include "libs/base/log_level.h"
#include "libs/base/one_line.h"
#include "libs/base/processes.h"
#include "libs/operate/layout.h"
#include "libs/operate/text.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::ctl {
namespace {

std::string FaultTable(const v1::FaultList& list, const FaultOptions& options) {
  operate::Table table({"NAME", "TERM", "HITS"});
  for (const v1::Fault& fault : list.faults())
    table.Add({fault.name(), fault.term(), fmt::format("{}", fault.hits())});
  return table.Text(!options.no_headers);
}

Status CheckProcess(const std::string& process) {
  if (FindProcess(process) != nullptr) return OkStatus();
  return InvalidArgument("there is no process {}: want one of {}", process, ListOfProcesses());
}

/// The process has a fail point of this name.
Status CheckPoint(const operate::Context& context, const FaultOptions& options) {
  const auto list = context.client.ListFaults(options.process);
  if (!list.ok()) return list.status();
  if (std::ranges::any_of((*list)->faults(),
                          [&options](const v1::Fault& f) { return f.name() == options.name; }))
    return OkStatus();
  return InvalidArgument("{} has no fail point {} (splitletctl fault list {} shows them)",
                         options.process, options.name, options.process);
}

struct LevelChoice {
  std::vector<std::string> processes;
  std::string level;  // empty: only show the levels
};

/// A single word is a level if a level has that name, else a process.
StatusOr<LevelChoice> ReadLevelChoice(const std::vector<std::string>& words,
                                      std::vector<std::string> all) {
  LevelChoice choice{.processes = std::move(all), .level = ""};
  if (words.empty()) return choice;
  if (words.size() == 1 && LevelOf(words.front())) {
    choice.level = words.front();
    return choice;
  }
  if (Status known = CheckProcess(words.front()); !known.ok()) return known;
  choice.processes = {words.front()};
  if (words.size() == 1) return choice;
  if (!LevelOf(words.back()))
    return InvalidArgument("{}: want debug, info, warn or error", words.back());
  choice.level = words.back();
  return choice;
}

StatusOr<std::string> LevelLine(const operate::Context& context, const std::string& process,
                                const std::string& level) {
  if (!level.empty()) {
    const auto before = context.client.SetLogLevel(process, level);
    if (!before.ok()) return before.status();
    return fmt::format("{}: {}, was {}", process, level, *before);
  }
  const operate::ProcessView view = context.client.Ask(process);
  if (view.info == nullptr) return Unavailable("{}", view.problem);
  return fmt::format("{}: {}", process, view.info->log_level());
}

}  // namespace

Status LogLevelCommand(const operate::Context& context, const std::vector<std::string>& words) {
  const auto choice = ReadLevelChoice(words, context.client.ProcessesHere());
  if (!choice.ok()) return choice.status();
  Status failed = OkStatus();
  for (const std::string& process : choice->processes) {
    const auto line = LevelLine(context, process, choice->level);
    if (line.ok()) {
      context.out << OneLine(*line) << "\n";
      continue;
    }
    context.err << fmt::format("{}: {}\n", process, OneLine(Message(line.status())));
    failed = line.status();
  }
  return failed;
}

Status Gc(const operate::Context& context, bool dry_run) {
  const auto answer = context.client.RunGc(dry_run);
  if (!answer.ok()) return answer.status();
  const v1::GcReport& report = **answer;
  operate::Table table({"KIND", "NAME", "SIZE", dry_run ? "WOULD GO" : "REMOVED", "REASON"});
  uint64_t bytes = 0;
  for (const auto& item : report.items()) {
    bytes += item.bytes();
    const std::string done = dry_run || item.removed() ? "yes" : "no";
    table.Add({item.kind(), item.name(),
               item.bytes() == 0 ? "-" : operate::HumanBytes(item.bytes()), done,
               item.error().empty() ? item.reason() : item.reason() + "; " + item.error()});
  }
  if (!table.empty()) context.out << table.Text() << "\n";
  for (const auto& line : report.kept()) context.out << "kept: " << OneLine(line) << "\n";
  context.out << fmt::format("{} items, {}, {}\n", report.items_size(), operate::HumanBytes(bytes),
                             dry_run ? "nothing was removed (dry run)" : "done");
  return report.error().empty() ? OkStatus()
                                : Aborted("gc ended its round early: {}", report.error());
}

Status ListFaultsCommand(const operate::Context& context, const FaultOptions& options) {
  if (Status known = CheckProcess(options.process); !known.ok()) return known;
  const auto list = context.client.ListFaults(options.process);
  if (!list.ok()) return list.status();
  context.out << FaultTable(**list, options);
  return OkStatus();
}

Status SetFaultCommand(const operate::Context& context, const FaultOptions& options) {
  if (Status known = CheckProcess(options.process); !known.ok()) return known;
  if (Status there = CheckPoint(context, options); !there.ok()) return there;
  const auto list = context.client.SetFault(options.process, options.name, options.term);
  if (!list.ok()) return list.status();
  context.out << fmt::format("{}: {} = {}\n", options.process, options.name, options.term);
  return OkStatus();
}

Status ClearFaults(const operate::Context& context, const FaultOptions& options) {
  if (Status known = CheckProcess(options.process); !known.ok()) return known;
  if (!options.name.empty())
    if (Status there = CheckPoint(context, options); !there.ok()) return there;
  const auto list = context.client.SetFault(options.process, options.name, "off");
  if (!list.ok()) return list.status();
  context.out << options.process << ": "
              << (options.name.empty() ? "all fail points" : options.name) << " off\n";
  return OkStatus();
}

/// Queries every process that keeps files of pods. A process that is down is reported, and the
/// others are still queried.
Status DiscardRecordCommand(const operate::Context& context, const std::string& uid) {
  Status failed = OkStatus();
  size_t put_aside = 0;
  for (const auto& process : ProcessNames()) {
    const auto reply = context.client.DiscardRecord(process, uid);
    const StatusCode code = reply.status().code();
    if (code == StatusCode::kNotFound || code == StatusCode::kUnimplemented) continue;
    if (!reply.ok()) {
      context.err << fmt::format("{}: {}\n", process, OneLine(Message(reply.status())));
      failed = reply.status();
      continue;
    }
    for (const auto& path : (*reply)->kept_aside()) {
      ++put_aside;
      context.out << fmt::format("{}: kept aside as {}\n", process, OneLine(path));
    }
  }
  if (!failed.ok()) return failed;
  return put_aside > 0
             ? OkStatus()
             : NotFound("nothing to discard: every process can read its files of pod {}", uid);
}

Status Doctor(const operate::Context& context, const std::string& runtime_endpoint) {
  const auto findings = Examine(context.client, runtime_endpoint);
  context.out << DoctorText(findings);
  const bool bad = std::ranges::any_of(
      findings, [](const Finding& f) { return f.grade == Finding::Grade::kBad; });
  return bad ? FailedPrecondition("the stack is not healthy: see the lines marked BAD")
             : OkStatus();
}

}  // namespace splitlet::ctl
