#include "kubelet/document.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "kubelet/flag_values.h"
#include "kubelet/merge.h"
#include "libs/base/one_line.h"
#include "libs/config/kubelet_config.h"
#include "libs/config/reader.h"
#include "libs/config/schema.h"
#include "libs/config/unmet.h"
#include "libs/fs/path.h"

namespace splitlet::kubelet {
namespace {

constexpr uint64_t kMaxFile = 4u << 20;
constexpr const char* kApiVersion = "kubelet.config.k8s.io/v1beta1";
constexpr const char* kKind = "KubeletConfiguration";
constexpr const char* kPaths[] = {"staticPodPath", "authentication.x509.clientCAFile",
                                  "tlsCertFile",   "tlsPrivateKeyFile",
                                  "resolvConf",    "volumePluginDir",
                                  "podLogsDir"};
/// A kubelet's defaults on Linux.
constexpr std::pair<const char*, const char*> kEvictionHard[] = {{"memory.available", "100Mi"},
                                                                 {"nodefs.available", "10%"},
                                                                 {"nodefs.inodesFree", "5%"},
                                                                 {"imagefs.available", "15%"},
                                                                 {"imagefs.inodesFree", "5%"}};

StatusOr<YAML::Node> Parse(const std::string& path, const std::string& text) {
  try {
    YAML::Node document = YAML::Load(text);
    if (!document.IsDefined() || document.IsNull())
      return InvalidArgument("{}: the file is empty", path);
    if (!document.IsMap()) return InvalidArgument("{}: want an object", path);
    return document;
  } catch (const YAML::Exception& e) {
    return InvalidArgument("{}: not YAML: {}", path, OneLine(e.what()));
  }
}

std::string TextOf(const std::string& path, const config::ConfigProblem& problem) {
  const std::string where = problem.line > 0 ? fmt::format(" (line {})", problem.line) : "";
  return OneLine(fmt::format("{}: {}: {}{}", path, problem.key, problem.reason, where));
}

void MakePathsAbsolute(const YAML::Node& document, const std::string& folder) {
  for (const char* path : kPaths) {
    const YAML::Node value = config::At(document, path);
    if (!value.IsDefined() || !value.IsScalar()) continue;
    const std::string text = value.Scalar();
    if (text.empty() || text.front() == '/') continue;
    // A relative podLogsDir is an error, which the check of the configuration finds.
    if (std::string_view(path) == "podLogsDir") continue;
    SetAt(document, path, TextNode(folder + "/" + text));
  }
}

/// The document that stands for a missing --config.
YAML::Node WithoutFile() {
  YAML::Node document(YAML::NodeType::Map);
  document["apiVersion"] = kApiVersion;
  document["kind"] = kKind;
  SetAt(document, "authentication.anonymous.enabled", YAML::Node(true));
  SetAt(document, "authentication.webhook.enabled", YAML::Node(false));
  SetAt(document, "authorization.mode", TextNode("AlwaysAllow"));
  document["readOnlyPort"] = 10255;
  document["evictionHard"] = YAML::Node(YAML::NodeType::Map);
  return document;
}

bool MergesDefaultSignals(const YAML::Node& document) {
  return config::ConfigReader(document).Bool("mergeDefaultEvictionSettings").value_or(false);
}

void AddDefaultSignals(YAML::Node document) {
  for (const auto& [signal, value] : kEvictionHard)
    if (!std::as_const(document)["evictionHard"].IsDefined() ||
        !std::as_const(document)["evictionHard"][signal].IsDefined())
      document["evictionHard"][signal] = TextNode(value);
}

/// Defaults that are set before drop-ins are merged. Other defaults do not depend on drop-ins.
void FillDefaults(YAML::Node document, bool has_file) {
  const config::ConfigReader read(document);
  if (has_file && !read.Has("evictionHard")) AddDefaultSignals(document);
  if (!read.Has("nodeStatusReportFrequency")) {
    const auto update = read.String("nodeStatusUpdateFrequency");
    document["nodeStatusReportFrequency"] = TextNode(update.value_or("5m"));
  }
  if (!read.Has("serializeImagePulls"))
    document["serializeImagePulls"] = read.Int("maxParallelImagePulls").value_or(1) < 2;
}

/// Keeps the processes from merging the default signals a second time.
void MarkSignalsMerged(const YAML::Node& document) {
  const YAML::Node own = document["splitlet"];
  if (own.IsDefined() && !own.IsMap() && !own.IsNull()) return;  // Load reports the error
  SetAt(document, "splitlet.evictionHardIsMerged", YAML::Node(true));
}

Status CheckDropIn(const std::string& path, const YAML::Node& patch) {
  for (const auto& [key, wanted] : {std::pair{"apiVersion", kApiVersion}, {"kind", kKind}}) {
    const YAML::Node value = patch[key];
    if (!value.IsDefined() || !value.IsScalar())
      return InvalidArgument("{}: {}: the key is missing, want {}: {}", path, key, key, wanted);
    if (value.Scalar() != wanted)
      return InvalidArgument("{}: {}: want {}, not \"{}\"", path, key, wanted,
                             OneLine(value.Scalar()));
  }
  const auto doubled = DoubledKeys(patch);
  if (doubled.empty()) return OkStatus();
  return InvalidArgument("{}: {}: duplicate key", path, OneLine(doubled.front()));
}

StatusOr<YAML::Node> ApplyDropIns(fs::FileSystem& files, const std::string& directory,
                                  const std::string& folder, YAML::Node document) {
  const auto paths = ListDropIns(files, directory);
  if (!paths.ok()) return paths.status();
  for (const std::string& path : *paths) {
    ASSIGN_OR_RETURN(const std::string text, files.Read(path, kMaxFile), "{}", path);
    const auto parsed = Parse(path, text);
    if (!parsed.ok()) return parsed.status();
    YAML::Node patch = WithFieldNames(*parsed);
    const Status fit = CheckDropIn(path, *parsed);
    if (!fit.ok()) return fit;
    patch = config::WithoutExtras(patch);
    MakePathsAbsolute(patch, folder);
    document = MergePatch(document, patch);
  }
  return document;
}

Status ApplyFlags(const Arguments& arguments, const std::string& folder, YAML::Node document) {
  std::vector<const FlagRow*> order;
  std::map<const FlagRow*, std::vector<std::string>> values;
  for (const auto& [row, value] : arguments.overrides) {
    if (!values.contains(row)) order.push_back(row);
    values[row].push_back(value);
  }
  YAML::Node over(YAML::NodeType::Map);
  for (const FlagRow* row : order) {
    const auto value = FieldValue(*row, values[row]);
    if (!value.ok()) return value.status();
    // This flag cannot turn off what the file turns on.
    if (row->name == "seccomp-default" && value->Scalar() == "false") continue;
    SetAt(over, row->target, *value);
  }
  MakePathsAbsolute(over, folder);
  for (const FlagRow* row : order) {
    const YAML::Node value = config::At(over, row->target);
    if (!value.IsDefined()) continue;
    const YAML::Node before = config::At(document, row->target);
    const bool adds = row->value == FlagValue::kBoolMap && before.IsDefined();
    SetAt(document, row->target, adds ? MergePatch(before, value) : value);
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<std::string>> ListDropIns(fs::FileSystem& files,
                                               const std::string& directory) {
  std::vector<std::string> paths;
  ASSIGN_OR_RETURN(const auto entries, files.List(directory), "--config-dir: {}", directory);
  for (const fs::DirEntry& entry : entries) {  // sorted by name
    const std::string path = directory + "/" + entry.name;
    if (entry.kind == fs::FileInfo::Kind::kDirectory) {
      auto below = ListDropIns(files, path);
      if (!below.ok()) return below.status();
      std::ranges::move(*below, std::back_inserter(paths));
    } else if (entry.name.ends_with(".conf")) {
      const auto info = files.Stat(path, true);
      if (info.ok() && info->kind == fs::FileInfo::Kind::kFile) paths.push_back(path);
    }
  }
  return paths;
}

StatusOr<Document> LoadDocument(fs::FileSystem& files, const Arguments& arguments,
                                const std::string& folder) {
  const auto absolute = [&folder](const std::string& path) {
    return path.starts_with('/') ? path : folder + "/" + path;
  };
  Document out;
  YAML::Node document = WithoutFile();
  const bool has_file = !arguments.config.empty();
  if (has_file) {
    const std::string path = absolute(arguments.config);
    ASSIGN_OR_RETURN(const std::string text, files.Read(path, kMaxFile), "--config: {}", path);
    const auto parsed = Parse(path, text);
    if (!parsed.ok()) return parsed.status();
    for (const config::ConfigProblem& problem : config::CheckSchema(*parsed)) {
      const std::string described = TextOf(path, problem);
      if (!problem.only_strict) return InvalidArgument("{}", described);
      out.warnings.push_back(described);
    }
    document = config::WithoutExtras(*parsed);
    MakePathsAbsolute(document, fs::ParentOf(path));
    // Only the file's own setting counts here; drop-ins and flags are merged into the result.
    if (MergesDefaultSignals(document)) AddDefaultSignals(document);
  }
  if (!arguments.config_dir.empty()) {
    FillDefaults(document, has_file);
    ASSIGN_OR_RETURN(document,
                     ApplyDropIns(files, absolute(arguments.config_dir), folder, document),
                     "drop-ins");
  }
  const Status applied = ApplyFlags(arguments, folder, document);
  if (!applied.ok()) return applied;
  if (MergesDefaultSignals(document)) MarkSignalsMerged(document);
  out.json = ToJson(document) + "\n";
  // Checks the merged result: fields that exclude each other may come from two places.
  const auto checked =
      config::KubeletConfig::Load("configuration", out.json, config::Reading::kLenient);
  if (!checked.ok()) return checked.status();
  for (const std::string& field : checked->without_effect)
    out.warnings.push_back(fmt::format("{}: set, but has no effect here", field));
  const auto& server = checked->server;
  if (server.enabled && server.anonymous && server.authorization == "AlwaysAllow")
    out.warnings.push_back(fmt::format(
        "ANYBODY WHO REACHES PORT {} MAY RUN COMMANDS IN EVERY POD: "
        "authentication.anonymous.enabled is true and authorization.mode is AlwaysAllow{}",
        server.port, has_file ? "" : ", as in a kubelet without --config"));
  return out;
}

}  // namespace splitlet::kubelet
