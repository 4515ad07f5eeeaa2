#include "services/pod-worker/runtime_config/names.h"

#include <algorithm>
#include <charconv>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "libs/base/hash.h"
#include "libs/cri/incarnation.h"
#include "libs/kube/codec.h"

namespace splitlet::pod_worker {

namespace {

constexpr size_t kMaxFileName = 255;

std::string PortsJson(const kube::Container& container) {
  std::string json = "[";
  for (const auto& port : container.ports()) {
    if (json.size() > 1) json += ',';
    json += '{';
    if (!port.name().empty()) json += fmt::format("\"name\":{},", JsonQuote(port.name()));
    if (port.host_port() != 0) json += fmt::format("\"hostPort\":{},", port.host_port());
    json += fmt::format("\"containerPort\":{}", port.container_port());
    if (!port.protocol().empty())
      json += fmt::format(",\"protocol\":{}", JsonQuote(port.protocol()));
    if (!port.host_ip().empty()) json += fmt::format(",\"hostIP\":{}", JsonQuote(port.host_ip()));
    json += '}';
  }
  return json + ']';
}

cri::StringMap PodKeys(const kube::Pod& pod) {
  return {{std::string(kube::kPodNameLabel), pod.metadata().name()},
          {std::string(kube::kPodNamespaceLabel), pod.metadata().namespace_()},
          {std::string(kube::kPodUidLabel), pod.metadata().uid()}};
}

/// Also removes the annotation of a manifest that sets an incarnation.
void SetIncarnation(int64_t incarnation, cri::StringMap& annotations) {
  annotations.erase(std::string(cri::kIncarnationAnnotation));
  if (incarnation != 0)
    annotations[std::string(cri::kIncarnationAnnotation)] = std::to_string(incarnation);
}

}  // namespace

std::string JsonQuote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string ContainerHash(const kube::Container& container) {
  const std::string json = fmt::format("{{\"image\":{},\"name\":{}}}", JsonQuote(container.image()),
                                       JsonQuote(container.name()));
  std::string text = "([]uint8)[";
  for (const char c : json) {
    if (text.back() != '[') text += ' ';
    text += std::to_string(static_cast<unsigned char>(c));
  }
  text += ']';
  return fmt::format("{:x}", Fnv1a32(text));
}

cri::StringMap SandboxLabels(const kube::Pod& pod) {
  cri::StringMap labels = PodKeys(pod);
  for (const auto& [key, value] : pod.metadata().labels()) labels.emplace(key, value);
  return labels;
}

cri::StringMap SandboxAnnotations(const kube::Pod& pod, std::string_view node_annotation,
                                  int64_t incarnation) {
  cri::StringMap annotations(pod.metadata().annotations().begin(),
                             pod.metadata().annotations().end());
  annotations[std::string(kube::kNodeAnnotation)] = std::string(node_annotation);
  SetIncarnation(incarnation, annotations);
  return annotations;
}

cri::StringMap ContainerLabels(const kube::Pod& pod, const std::string& container) {
  cri::StringMap labels = PodKeys(pod);
  labels[std::string(kube::kContainerNameLabel)] = container;
  return labels;
}

cri::StringMap ContainerAnnotations(const kube::Pod& pod, const kube::Container& container,
                                    uint32_t restart_count, int64_t incarnation) {
  cri::StringMap out{
      {std::string(kube::kContainerHash), ContainerHash(container)},
      {std::string(kube::kContainerRestartCount), std::to_string(restart_count)},
      {std::string(kube::kTerminationMessagePath), container.termination_message_path()},
      {std::string(kube::kTerminationMessagePolicy), container.termination_message_policy()},
  };
  SetIncarnation(incarnation, out);
  if (container.ports_size() > 0) out[std::string(kube::kContainerPorts)] = PortsJson(container);
  if (container.lifecycle().has_pre_stop())
    out[std::string(kube::kPreStopHandler)] = kube::ToJson(container.lifecycle().pre_stop());
  if (pod.metadata().has_deletion_grace_period_seconds())
    out[std::string(kube::kPodDeletionGracePeriod)] =
        std::to_string(pod.metadata().deletion_grace_period_seconds());
  if (pod.spec().has_termination_grace_period_seconds())
    out[std::string(kube::kPodTerminationGracePeriod)] =
        std::to_string(pod.spec().termination_grace_period_seconds());
  return out;
}

std::string PodLogDirectory(std::string_view root, const kube::Pod& pod) {
  const auto& meta = pod.metadata();
  return fmt::format("{}/{}_{}_{}", root, meta.namespace_(), meta.name(), meta.uid());
}

std::string ContainerLogPath(std::string_view container, uint32_t attempt) {
  return fmt::format("{}/{}.log", container, attempt);
}

std::string LogLinkName(const kube::Pod& pod, std::string_view container, std::string_view id) {
  static constexpr std::string_view kSuffix = ".log";
  std::string name =
      fmt::format("{}_{}_{}-{}", pod.metadata().name(), pod.metadata().namespace_(), container, id);
  name.resize(std::min(name.size(), kMaxFileName - kSuffix.size()));
  return name.append(kSuffix);
}

uint32_t RestartCountFromLogs(const std::vector<std::string>& files) {
  uint32_t next = 0;
  for (const std::string& file : files) {
    uint32_t number = 0;
    const char* const end = file.data() + file.size();
    const auto [rest, error] = std::from_chars(file.data(), end, number);
    if (error != std::errc{}) continue;
    const std::string_view tail(rest, static_cast<size_t>(end - rest));
    if (tail == ".log" || tail.starts_with(".log.")) next = std::max(next, number + 1);
  }
  return next;
}

}  // namespace splitlet::pod_worker
