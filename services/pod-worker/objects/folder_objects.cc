#include "services/pod-worker/objects/folder_objects.h"

#include <algorithm>
#include <utility>

#include "libs/base/hash.h"

namespace splitlet::pod_worker {
namespace {

constexpr Duration kPeriod = std::chrono::seconds{20};
constexpr const char* kFolderStrand = "objects";

bool IsManifest(std::string_view name) {
  if (name.starts_with('.')) return false;
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

/// The view before the folder was read.
class Unknown final : public ObjectSource {
 public:
  explicit Unknown(const std::string& path)
      : why_(Unavailable("objects of {} are not known yet", path)) {}
  StatusOr<ObjectPtr<ConfigMap>> GetConfigMap(const ObjectName&) const override { return why_; }
  StatusOr<ObjectPtr<Secret>> GetSecret(const ObjectName&) const override { return why_; }
  StatusOr<ObjectPtr<RuntimeClass>> GetRuntimeClass(const std::string&) const override {
    return why_;
  }
  StatusOr<ObjectPtr<Claim>> GetClaim(const ObjectName&) const override { return why_; }
  StatusOr<ObjectPtr<PersistentVolume>> GetPersistentVolume(const std::string&) const override {
    return why_;
  }
  StatusOr<std::vector<ObjectPtr<Service>>> Services(const std::string&) const override {
    return why_;
  }

 private:
  const Status why_;
};

}  // namespace

FolderObjects::FolderObjects(Deps deps, std::string path)
    : deps_(std::move(deps)),
      path_(std::move(path)),
      view_(std::make_shared<Unknown>(path_)),
      timer_(deps_.loop, kPeriod, [this] {
        if (watch_lost_) Watch();
        OnHint();
      }) {}

void FolderObjects::Start(std::function<void()> on_change) {
  on_change_ = std::move(on_change);
  Watch();
  Read();
}

/// Runs before the first Read, on the same strand, so that no change is missed in between. Without
/// a watch the timer finds changes.
void FolderObjects::Watch() {
  watch_lost_ = false;
  deps_.strands.Run(kFolderStrand, [this] {
    const auto lost = [this](const Status&) { deps_.loop.Post([this] { watch_lost_ = true; }); };
    const Status status = deps_.watcher->Start(
        path_, {[this](const fs::Hint&) { deps_.loop.Post([this] { OnHint(); }); }, lost});
    if (!status.ok()) lost(status);
  });
}

void FolderObjects::OnHint() { reading_ ? static_cast<void>(again_ = true) : Read(); }

void FolderObjects::Read() {
  reading_ = true;
  again_ = false;
  deps_.strands.Run(kFolderStrand, [this, known = files_] {
    auto inspection = std::make_shared<Inspection>(Inspect(known));
    deps_.loop.Post([this, inspection] { OnInspected(std::move(*inspection)); });
  });
}

FolderObjects::Inspection FolderObjects::Inspect(Files known) const {
  const auto entries = deps_.files.List(path_);
  if (!entries.ok()) return {Annotate(entries.status(), path_), std::move(known)};
  Inspection inspection;
  uint64_t room = kMaxFolder;
  for (const auto& entry : *entries) {
    if (!IsManifest(entry.name)) continue;
    const std::string path = path_ + "/" + entry.name;
    const auto before = known.find(path);
    if (auto file = ReadFile(path, before == known.end() ? nullptr : &before->second, room))
      inspection.files.emplace(path, *std::move(file));
  }
  return inspection;
}

/// Unset: the file was removed after the folder was listed.
std::optional<FolderObjects::File> FolderObjects::ReadFile(const std::string& path,
                                                           const File* known,
                                                           uint64_t& room) const {
  File file = known == nullptr ? File{} : *known;
  const auto text = deps_.files.Read(path, std::min(kMaxFile, room));
  if (text.status().code() == StatusCode::kNotFound) return std::nullopt;
  if (!text.ok()) {
    file.content = 0;
    file.problem = ToString(Annotate(text.status(), path));
    return file;
  }
  room -= text->size();
  const uint64_t content = Fnv1a64(*text) ^ text->size();
  if (known != nullptr && content == known->content) return file;
  file.content = content;
  auto set = ReadObjects(*text, path);
  file.problem = set.ok() ? "" : std::string(Message(set.status()));
  if (set.ok()) file.set = *std::move(set);
  return file;
}

void FolderObjects::OnInspected(Inspection inspection) {
  reading_ = false;
  std::vector<std::string> problems;
  if (!inspection.status.ok()) problems.push_back(ToString(inspection.status));
  bool same = inspection.status.ok() && read_ && inspection.files.size() == files_.size();
  auto set = std::make_shared<ObjectSet>();
  for (const auto& [path, file] : inspection.files) {
    if (!file.problem.empty()) problems.push_back(file.problem);
    const auto twice = set->Add(file.set, path);
    problems.insert(problems.end(), twice.begin(), twice.end());
    const auto before = files_.find(path);
    same = same && before != files_.end() && before->second.content == file.content;
  }
  set->BindClaims();
  files_ = std::move(inspection.files);
  Report(std::move(problems));
  if (inspection.status.ok() && !same) {
    view_ = std::move(set);
    read_ = true;
    on_change_();
  }
  if (again_) Read();
}

void FolderObjects::Report(std::vector<std::string> problems) {
  for (const std::string& problem : problems)
    if (std::ranges::find(problems_, problem) == problems_.end())
      deps_.log.Warn("cannot use API objects of the folder, keeping the last good ones",
                     {KV("path", path_), KV("err", problem)});
  problems_ = std::move(problems);
}

}  // namespace splitlet::pod_worker
