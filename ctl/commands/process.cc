#include "ctl/commands/process.h"

#include <fmt/format.h>
#include <signal.h>

#include <ostream>

#include "ctl/show/processes.h"
#include "libs/base/processes.h"
#include "libs/operate/layout.h"
#include "libs/operate/supervisor.h"

namespace splitlet::ctl {
namespace {

/// The processes, and the services that the local stack runs beside them.
Status CheckService(const std::string& service) {
  if (FindProcess(service) != nullptr || service == "nats" || service == "containerd")
    return OkStatus();
  return InvalidArgument("there is no process {}: want one of {}, nats, containerd", service,
                         ListOfProcesses());
}

Status Send(operate::Supervisor& supervisor, const operate::Context& context,
            const ProcessOptions& options) {
  const int signal =
      options.action == "kill" ? SIGKILL : (options.action == "stop" ? SIGSTOP : SIGCONT);
  const auto pid = supervisor.Signal(options.process, signal);
  if (!pid.ok()) return pid.status();
  const char* done = signal == SIGKILL ? "killed" : (signal == SIGSTOP ? "stopped" : "continued");
  context.out << fmt::format("process/{} {} (pid {})\n", options.process, done, *pid);
  if (signal == SIGSTOP)
    context.err << "paused; continue it with: splitletctl process cont " << options.process << "\n";
  return OkStatus();
}

Status Switch(operate::Supervisor& supervisor, const ProcessOptions& options) {
  if (options.action == "down") return supervisor.TakeDown(options.process);
  if (options.action == "up") return supervisor.BringUp(options.process);
  return supervisor.Restart(options.process);
}

}  // namespace

Status ProcessCommand(const operate::Context& context, const ProcessOptions& options) {
  if (Status known = CheckService(options.process); !known.ok()) return known;
  const auto supervisor = operate::FindSupervisor(context.client.layout());
  if (options.action == "kill" || options.action == "stop" || options.action == "cont")
    return Send(*supervisor, context, options);
  if (Status switched = Switch(*supervisor, options); !switched.ok()) return switched;
  const auto pid = supervisor->PidOf(options.process);
  const std::string now =
      pid.ok() && *pid > 0 ? fmt::format("runs (pid {})", *pid) : std::string("is down");
  context.out << fmt::format("process/{} {}\n", options.process, now);
  return OkStatus();
}

}  // namespace splitlet::ctl
