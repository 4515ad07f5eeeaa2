#include "tests/bench/processes.h"

#include <unistd.h>

#include <sstream>
#include <thread>

#include "libs/base/processes.h"
#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

using namespace std::chrono_literals;

/// Parses a file with "Pss: 17 kB".
double MbIn(const std::string& file, const std::string& field) {
  std::istringstream lines(harness::ReadFile(file));
  std::string word;
  double kb = 0;
  while (lines >> word)
    if (word == field) lines >> kb;
  return kb / 1024;
}

double PssOf(pid_t pid) {
  return pid == 0 ? 0 : MbIn(fmt::format("/proc/{}/smaps_rollup", pid), "Pss:");
}

double TicksOf(pid_t pid) {
  const std::string stat = harness::ReadFile(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return user + system;
}

}  // namespace

double Processes::SixMb() const {
  double sum = 0;
  for (const auto& process : ProcessNames()) {
    const double pss = PssOf(node_.keeper().PidOf(process));
    std::fprintf(stderr, "%s: %.1f MB\n", process.c_str(), pss);
    sum += pss;
  }
  return sum;
}

/// The keeper runs `bash nats.sh serve`, which becomes nats-server by exec.
double Processes::ServerMb() const { return PssOf(node_.keeper().PidOf("nats")); }

double Processes::AllMb() const {
  double sum = ServerMb();
  for (const ProcessRow& row : kProcesses)
    sum += PssOf(node_.keeper().PidOf(std::string(row.name)));
  return sum;
}

double Processes::MbOf(const std::string& process) const {
  return PssOf(node_.keeper().PidOf(process));
}

double Processes::PeakMbOf(const std::string& process) const {
  return MbIn(fmt::format("/proc/{}/status", node_.keeper().PidOf(process)), "VmHWM:");
}

double Processes::CpuSeconds() const {
  double ticks = TicksOf(node_.keeper().PidOf("nats"));
  for (const auto& process : ProcessNames()) ticks += TicksOf(node_.keeper().PidOf(process));
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double Processes::CpuSecondsOf(const std::string& process) const {
  return TicksOf(node_.keeper().PidOf(process)) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void Processes::ShowIdle(int pods) const {
  std::this_thread::sleep_for(15s);
  Result memory{.name = fmt::format("memory of all seven, {} pods (PSS)", pods), .unit = "MB"};
  if (pods == 100) memory.limit_p50 = 45;
  if (pods == 500) memory.limit_p50 = 80;
  memory.values = {SixMb() + ServerMb()};
  Print(memory);
  constexpr auto kSpan = 60s;
  const double before = CpuSeconds();
  std::this_thread::sleep_for(kSpan);
  Result cpu{.name = fmt::format("CPU of all seven, idle with {} pods", pods),
             .unit = "% of a core"};
  if (pods == 0) cpu.limit_p50 = 0.4;
  if (pods == 100) cpu.limit_p50 = 0.8;
  if (pods == 500) cpu.limit_p50 = 2;
  cpu.values = {(CpuSeconds() - before) / static_cast<double>(kSpan.count()) * 100};
  Print(cpu);
}

}  // namespace splitlet::bench
