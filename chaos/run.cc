#include "chaos/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <ostream>

#include "chaos/node/flood.h"
#include "chaos/node/local_node.h"
#include "chaos/node/text_files.h"
#include "chaos/report/report.h"
#include "chaos/report/report_html.h"
#include "chaos/round/engine.h"
#include "libs/operate/text.h"

namespace splitlet::chaos {
namespace {

namespace stdfs = std::filesystem;

class RealPacer final : public Pacer {
 public:
  void Wait(Duration duration) override {
    poll(nullptr, 0, static_cast<int>(std::max<int64_t>(1, duration / 1ms)));
  }
};

StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoStatus(errno);
  std::error_code error;
  if (stdfs::is_directory(path, error)) return InvalidArgument("is a folder");
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

StatusOr<Scenario> LoadScenario(const std::string& path) {
  const stdfs::path file(path);
  const auto text = ReadText(path);
  if (!text.ok()) return Annotate(text.status(), path);
  return ParseScenario(*text, file.filename().string(), [&file](const std::string& name) {
    return ReadText((file.parent_path() / name).string());
  });
}

/// Takes a lock: two runs on one stack would report each other's faults as violations.
class OnlyOne {
 public:
  /// Enters the directory of the stack.
  OnlyOne() : fd_(open("chaos.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}
  ~OnlyOne() {
    if (fd_ >= 0) close(fd_);
  }
  OnlyOne(const OnlyOne&) = delete;
  OnlyOne& operator=(const OnlyOne&) = delete;
  Status Take() const {
    if (fd_ < 0) return PermissionDenied("{}", kNeedsRoot);
    if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return OkStatus();
    return FailedPrecondition("another chaos run uses this stack: wait for it, or end it");
  }

 private:
  const int fd_;
};

Status WriteReport(const std::string& folder, const Report& report) {
  std::error_code error;
  stdfs::create_directories(folder, error);
  if (error) return Annotate(ErrnoStatus(error.value()), folder);
  RETURN_IF_ERROR(WriteByRename(folder + "/report.json", ReportJson(report)), "report");
  return Annotate(WriteByRename(folder + "/report.html", ReportHtml(report)), "report");
}

std::string CommandLine(const RunOptions& options, uint64_t seed) {
  return fmt::format("splitletctl --state-dir DIR chaos run {} --seed {}", options.scenario, seed);
}

/// Rounds with growing seeds, until --repeat or --minutes is reached.
Status Rounds(const operate::Context& context, const RunOptions& options, const Scenario& scenario,
              Report& report) {
  auto node = LocalNode::Open(context.client);
  if (!node.ok()) return node.status();
  RealPacer pacer;
  const Clock& clock = context.client.clock();
  const Clock::Time began = clock.Now();
  const Duration limit{static_cast<int64_t>(options.minutes * 60e9)};
  const uint64_t first = options.seed.value_or(scenario.seed);
  for (uint64_t i = 0; !context.stopped(); ++i) {
    const bool more = options.minutes > 0 ? i == 0 || clock.Now() - began < limit
                                          : i < static_cast<uint64_t>(options.repeat);
    if (!more) break;
    context.err << fmt::format("{}: round {}, seed {}\n", scenario.name, i + 1, first + i)
                << std::flush;
    Engine engine({.node = **node,
                   .clock = clock,
                   .pacer = pacer,
                   .stopped = context.stopped,
                   .progress =
                       [&context](const std::string& line) {
                         context.err << "  " << line << "\n" << std::flush;
                       }},
                  scenario, first + i);
    auto outcome = engine.Run();
    if (!outcome.ok()) return outcome.status();
    report.rounds.push_back(*std::move(outcome));
    report.length = clock.Now() - began;
  }
  return OkStatus();
}

Status DryRun(const operate::Context& context, const Scenario& scenario, uint64_t seed) {
  auto node = LocalNode::Open(context.client);
  if (!node.ok()) return node.status();
  const Plan plan = MakePlan(scenario, seed);
  if (Status can = CheckPlan(scenario, plan, **node); !can.ok()) return can;
  context.out << fmt::format("{}, seed {}: {} steps in {}\n", scenario.name, seed,
                             plan.steps.size(), operate::TimeText(scenario.duration))
              << PlanText(scenario, plan);
  return OkStatus();
}

}  // namespace

Status RunFlood(const operate::Context& context, const std::string& process) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the child must not outlive this run
  if (Status runs = context.client.CheckRuns(process); !runs.ok()) return runs;
  FloodCounts counts;
  Flood({.run_dir = context.client.layout().run_dir,
         .process = process,
         .clock = context.client.clock(),
         .stopped = context.stopped},
        counts);
  context.out << fmt::format("{} lists, {} calls with events, {} connections, {} refused\n",
                             counts.lists.load(), counts.events.load(), counts.connections.load(),
                             counts.refused.load());
  return OkStatus();
}

Status RunScenario(const operate::Context& context, const RunOptions& options) {
  const auto scenario = LoadScenario(options.scenario);
  if (!scenario.ok()) return scenario.status();
  const uint64_t seed = options.seed.value_or(scenario->seed);
  std::optional<OnlyOne> lock;
  if (context.client.layout().compose)
    return Unimplemented(
        "chaos works on a local stack (make run), not on docker compose; there use `splitletctl "
        "process` and `splitletctl fault`");
  if (!context.client.layout().top.empty()) {
    lock.emplace();
    if (Status taken = lock->Take(); !taken.ok()) return taken;
  }
  if (options.dry_run) return DryRun(context, *scenario, seed);
  Report report{.scenario = scenario->name,
                .about = scenario->about,
                .file = options.scenario,
                .version = "splitlet " SPLITLET_VERSION,
                .label = options.label,
                .command = CommandLine(options, seed),
                .began = context.client.clock().WallNow(),
                .rounds = {}};
  const Status ran = Rounds(context, options, *scenario, report);
  if (!report.rounds.empty()) {
    context.out << ReportText(report) << std::flush;
    if (!options.report.empty()) {
      if (Status written = WriteReport(options.report, report); !written.ok()) return written;
      context.out << "report: " << options.report << "/report.html\n";
    }
  }
  if (!ran.ok()) return ran;
  const size_t violations = ViolationsOf(report);
  return violations == 0 ? OkStatus() : Aborted("{} violations", violations);
}

}  // namespace splitlet::chaos
