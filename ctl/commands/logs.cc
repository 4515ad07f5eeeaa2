#include "ctl/commands/logs.h"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "ctl/commands/find_pods.h"
#include "ctl/show/processes.h"
#include "ctl/words/kubectl_words.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/one_line.h"
#include "libs/base/processes.h"
#include "libs/kube/time_text.h"
#include "libs/logs/choose_container.h"
#include "libs/operate/text.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::ctl {
namespace {

struct Log {
  std::string path;
  logs::LogOptions options;
  std::function<bool()> is_writing;
};

/// Ends when the reader of the output has closed it.
Status Print(const operate::Context& context, const Log& log) {
  const auto files = logs::MakeLogFiles();
  const auto watch = logs::MakeLogWatch(log.path);
  const logs::LogSource source{.files = *files,
                               .watch = *watch,
                               .is_writing = log.is_writing,
                               .is_cancelled = context.stopped};
  const auto read =
      logs::ReadLog(source, log.path, log.options, [&](logs::Stream, std::string_view bytes) {
        context.out << bytes;
        if (log.options.follow) context.out << std::flush;
        return OkStatus();
      });
  context.out << std::flush;
  if (!read.ok()) return read.status();
  if (read->unreadable_lines > 0)
    Warn(context, {fmt::format("{} lines have an unknown log format and were skipped",
                               read->unreadable_lines)});
  return OkStatus();
}

StatusOr<std::string> PathOf(const operate::Context& context, const operate::PodView& view,
                             const std::string& id) {
  const std::string bare = id.substr(id.find("://") == std::string::npos ? 0 : id.find("://") + 3);
  if (view.runtime != nullptr)
    for (const auto& container : view.runtime->pod().containers())
      if (container.id() == bare && !container.log_path().empty())
        return PodLogPath(context.client.layout(), container.log_path());
  return NotFound("unable to retrieve container logs for {}", id);
}

/// False once `status` shows that this container has ended, or once the stack is stopped. While
/// status is down the container counts as running.
bool StillRuns(const operate::Context& context, kube::Pod pod, const std::string& container,
               const std::string& id) {
  const auto status = context.client.GetPodStatus(pod.metadata().uid());
  if (status.status().code() == StatusCode::kNotFound) return false;
  if (!status.ok()) return operate::IsUp(context.client.layout());
  *pod.mutable_status() = **status;
  const auto chosen = logs::ChooseContainer(pod, container, /*previous=*/false);
  return chosen.ok() && chosen->running && chosen->id == id;
}

Status PodLogs(const operate::Context& context, const LogsOptions& options,
               const logs::LogOptions& read) {
  const auto view = FindPod(context, {.name = WithoutPodPrefix(options.pod),
                                      .name_space = options.name_space,
                                      .detail = operate::Client::Detail::kAll});
  if (!view.ok()) return view.status();
  std::string notice;
  const auto container = ChooseContainerName(*view->pod, options.container, notice);
  if (!container.ok()) return container.status();
  if (!notice.empty()) context.err << operate::Lines(notice, 0) << "\n";
  const auto chosen = logs::ChooseContainer(*view->pod, *container, options.previous);
  if (!chosen.ok()) return chosen.status();
  const auto path = PathOf(context, *view, chosen->id);
  if (!path.ok()) return path.status();
  return Print(context, {.path = *path, .options = read, .is_writing = [&] {
                           return StillRuns(context, *view->pod, *container, chosen->id);
                         }});
}

}  // namespace

std::string PodLogPath(const operate::Layout& layout, const std::string& path) {
  constexpr std::string_view kInside = "/var/log/splitlet/";
  if (!layout.compose || !path.starts_with(kInside)) return path;
  const std::string here = layout.pod_logs + "/" + path.substr(kInside.size());
  std::error_code error;
  return std::filesystem::exists(here, error) ? here : path;
}

StatusOr<std::string> ProcessLogPath(const operate::Layout& layout, const std::string& process) {
  const bool other = process == "nats" || process == "containerd" || process == "recorder";
  if (FindProcess(process) == nullptr && !other)
    return InvalidArgument("--process {}: want one of {}, nats, containerd, recorder", process,
                           ListOfProcesses());
  if (layout.compose)
    return FailedPrecondition("docker keeps the log of {}: docker compose logs {}", process,
                              process);
  if (layout.process_logs.empty())
    return FailedPrecondition("the journal keeps the log of {}: journalctl -u {}{}", process,
                              process == "containerd" ? "" : "splitlet-", process);
  return layout.process_logs + "/" + process + "/current";
}

StatusOr<logs::LogOptions> ParseLogOptions(const LogsOptions& options, WallTime now) {
  logs::LogOptions read{.follow = options.follow, .timestamps = options.timestamps};
  if (options.pod.empty() == options.process.empty())
    return InvalidArgument("want exactly one of a pod and --process NAME");
  if (!options.since.empty() && !options.since_time.empty())
    return InvalidArgument("at most one of --since and --since-time may be used");
  if (!options.since.empty()) {
    const auto since = operate::ParseSince(options.since);
    RETURN_IF_ERROR(since, "--since");
    read.since = now - *since;
  }
  if (!options.since_time.empty()) {
    const auto since = kube::ParseTime(options.since_time);
    RETURN_IF_ERROR(since, "--since-time {}", options.since_time);
    read.since = WallFromNanos(since->seconds * 1'000'000'000 + since->nanos);
  }
  if (options.tail < -1) return InvalidArgument("--tail must be greater than or equal to -1");
  if (options.tail >= 0) read.tail_lines = static_cast<uint64_t>(options.tail);
  if (options.limit_bytes == 0 || options.limit_bytes < -1)
    return InvalidArgument("--limit-bytes must be greater than 0");
  if (options.limit_bytes > 0) read.limit_bytes = static_cast<uint64_t>(options.limit_bytes);
  if (options.process.empty()) return read;
  if (read.since || options.previous || options.timestamps || !options.container.empty())
    return InvalidArgument("--process takes --tail, --limit-bytes and -f only");
  read.format = logs::Format::kRaw;
  return read;
}

Status Logs(const operate::Context& context, const LogsOptions& options) {
  const auto read = ParseLogOptions(options, context.client.clock().WallNow());
  if (!read.ok()) return read.status();
  if (options.process.empty()) return PodLogs(context, options, *read);
  const auto path = ProcessLogPath(context.client.layout(), options.process);
  if (!path.ok()) return path.status();
  return Print(context, {.path = *path, .options = *read, .is_writing = [&context] {
                           return operate::IsUp(context.client.layout());
                         }});
}

}  // namespace splitlet::ctl
