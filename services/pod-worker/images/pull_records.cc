#include "services/pod-worker/images/pull_records.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>
#include <set>

#include "libs/base/fail_point.h"
#include "libs/base/sha256.h"
#include "libs/fs/unfinished.h"
#include "libs/kube/image_name.h"
#include "libs/kube/time_text.h"

namespace splitlet::pod_worker {

namespace {

constexpr const char* kApiVersion = "kubelet.config.k8s.io/v1beta1";
constexpr uint64_t kMaxRecord = 4u << 20;
constexpr uint32_t kDirMode = 0700;

std::string FileOf(const std::string& dir, const std::string& key) {
  return fmt::format("{}/sha256-{}", dir, Sha256Hex(key));
}

template <class T>
StatusOr<std::optional<T>> ReadJson(fs::FileSystem& files, const std::string& path) {
  const auto text = files.Read(path, kMaxRecord);
  if (text.status().code() == StatusCode::kNotFound) return std::optional<T>();
  if (!text.ok()) return Annotate(text.status(), path);
  T message;
  google::protobuf::util::JsonParseOptions lenient;
  lenient.ignore_unknown_fields = true;
  if (!google::protobuf::util::JsonStringToMessage(*text, &message, lenient).ok())
    return DataLoss("{}: not a record of a pull", path);
  return std::optional<T>(std::move(message));
}

template <class T>
Status WriteJson(fs::FileSystem& files, const std::string& path, const T& message) {
  std::string json;
  CHECK(google::protobuf::util::MessageToJsonString(message, &json).ok(), "a record as JSON");
  return Annotate(files.Replace(path, json, {.fsync = true}), path);
}

/// The name as written, without tag and digest.
std::string Untagged(const std::string& image) {
  std::string name = image.substr(0, image.find('@'));
  const size_t slash = name.rfind('/'), colon = name.rfind(':');
  const bool has_tag = colon != std::string::npos && (slash == std::string::npos || colon > slash);
  return has_tag ? name.substr(0, colon) : name;
}

bool IsNamed(const cri::Image& image, const std::string& name) {
  const std::string normal = kube::NormalImageName(name);
  return std::ranges::find(image.tags, normal) != image.tags.end() ||
         std::ranges::find(image.digests, normal) != image.digests.end();
}

void AddSecret(const Credential& used, v1::ImagePullCredentialsRecord& record) {
  if (record.node_pods_accessible()) return;
  const auto& secret = *used.secret;
  auto& known = *record.mutable_kubernetes_secrets();
  auto found = std::find_if(known.begin(), known.end(), [&secret](const auto& one) {
    return SecretRef{one.uid(), one.namespace_(), one.name()} == secret;
  });
  auto& entry = found == known.end() ? *known.Add() : *found;
  entry.set_uid(secret.uid);
  entry.set_namespace_(secret.name_space);
  entry.set_name(secret.name);
  entry.set_credential_hash(HashOf(used));
}

void AddAccount(const AccountRef& account, v1::ImagePullCredentialsRecord& record) {
  if (record.node_pods_accessible()) return;
  for (const auto& one : record.kubernetes_service_accounts())
    if (AccountRef{one.uid(), one.namespace_(), one.name()} == account) return;
  auto& entry = *record.add_kubernetes_service_accounts();
  entry.set_uid(account.uid);
  entry.set_namespace_(account.name_space);
  entry.set_name(account.name);
}

}  // namespace

PullRecords::PullRecords(fs::FileSystem& files, const Clock& clock, const std::string& root_dir)
    : files_(files),
      clock_(clock),
      pulling_(root_dir + "/image_manager/pulling"),
      pulled_(root_dir + "/image_manager/pulled") {}

Status PullRecords::PutIntent(const std::string& image) {
  v1::ImagePullIntent intent;
  intent.set_kind("ImagePullIntent");
  intent.set_api_version(kApiVersion);
  intent.set_image(image);
  RETURN_IF_ERROR(files_.MakeDirs(pulling_, kDirMode), "{}", pulling_);
  FAIL_POINT("pod-worker.pull-intent.before");
  Status written = WriteJson(files_, FileOf(pulling_, image), intent);
  FAIL_POINT("pod-worker.pull-intent.after");
  return written;
}

Status PullRecords::RemoveIntent(const std::string& image) {
  const std::string path = FileOf(pulling_, image);
  return Annotate(files_.Remove(path), path);
}

std::string PullRecords::Now() const {
  return kube::FormatTime({ToNanos(clock_.WallNow()) / 1'000'000'000, 0}, 0);
}

StatusOr<std::optional<v1::ImagePulledRecord>> PullRecords::Read(const std::string& ref) const {
  auto record = ReadJson<v1::ImagePulledRecord>(files_, FileOf(pulled_, ref));
  if (record.ok() && *record && (*record)->image_ref() != ref)
    return DataLoss("{}: the record names another image", FileOf(pulled_, ref));
  return record;
}

Status PullRecords::Write(const v1::ImagePulledRecord& record) {
  RETURN_IF_ERROR(files_.MakeDirs(pulled_, kDirMode), "{}", pulled_);
  FAIL_POINT("pod-worker.pulled-record.before");
  Status written = WriteJson(files_, FileOf(pulled_, record.image_ref()), record);
  FAIL_POINT("pod-worker.pulled-record.after");
  return written;
}

Status PullRecords::AddAccess(const ImageIdentity& image, const std::optional<Credential>& used) {
  auto known = Read(image.ref);
  // A record that cannot be read is replaced: it proves nothing for any pod.
  v1::ImagePulledRecord record =
      known.ok() && *known ? *std::move(*known) : v1::ImagePulledRecord();
  const std::string before = record.SerializeAsString();
  record.set_kind("ImagePulledRecord");
  record.set_api_version(kApiVersion);
  record.set_image_ref(image.ref);
  auto& access = (*record.mutable_credential_mapping())[Untagged(image.name)];
  if (used && used->secret) {
    AddSecret(*used, access);
  } else if (used && used->account) {
    AddAccount(*used->account, access);
  } else {
    access.Clear();
    access.set_node_pods_accessible(true);
  }
  if (record.SerializeAsString() == before) return OkStatus();
  record.set_last_updated_time(Now());
  return Write(record);
}

StatusOr<PullOrigin> PullRecords::Find(const ImageIdentity& image) const {
  PullOrigin origin;
  ASSIGN_OR_RETURN(const auto record, Read(image.ref), "record of a pull");
  if (!record) {
    const auto intent = files_.Stat(FileOf(pulling_, image.name), false);
    if (!intent.ok() && intent.status().code() != StatusCode::kNotFound) return intent.status();
    origin.pulled_here = intent.ok();
    return origin;
  }
  origin.pulled_here = true;
  const auto found = record->credential_mapping().find(Untagged(image.name));
  if (found != record->credential_mapping().end()) origin.credentials = found->second;
  return origin;
}

bool PullRecords::IsEmpty() const {
  return std::ranges::all_of(std::array{&pulling_, &pulled_}, [this](const std::string* dir) {
    const auto files = files_.List(*dir);
    return files.ok() ? files->empty() : files.status().code() == StatusCode::kNotFound;
  });
}

Status PullRecords::Settle(const std::vector<cri::Image>& images) {
  for (const std::string* dir : {&pulling_, &pulled_})
    RETURN_IF_ERROR(fs::RemoveUnfinished(files_, *dir), "records of pulls");
  const auto intents = files_.List(pulling_);
  for (const auto& file : intents.ok() ? *intents : std::vector<fs::DirEntry>()) {
    const std::string path = pulling_ + "/" + file.name;
    const auto intent = ReadJson<v1::ImagePullIntent>(files_, path);
    if (!intent.ok() || !*intent || FileOf(pulling_, (*intent)->image()) != path) continue;
    const auto image = std::ranges::find_if(
        images, [&](const auto& one) { return IsNamed(one, (*intent)->image()); });
    if (image == images.end()) continue;
    const auto known = Read(image->id);
    if (!known.ok() || !*known) {
      v1::ImagePulledRecord record;
      record.set_kind("ImagePulledRecord");
      record.set_api_version(kApiVersion);
      record.set_image_ref(image->id);
      record.set_last_updated_time(Now());
      RETURN_IF_ERROR(Write(record), "settle {}", path);
    }
    RETURN_IF_ERROR(files_.Remove(path), "{}", path);
  }
  std::set<std::string> wanted;
  for (const auto& image : images) wanted.insert(FileOf(pulled_, image.id));
  const auto records = files_.List(pulled_);
  for (const auto& file : records.ok() ? *records : std::vector<fs::DirEntry>()) {
    const std::string path = pulled_ + "/" + file.name;
    if (file.name.starts_with("sha256-") && !wanted.contains(path))
      RETURN_IF_ERROR(files_.Remove(path), "{}", path);
  }
  return OkStatus();
}

}  // namespace splitlet::pod_worker
