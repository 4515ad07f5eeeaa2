#include "libs/fake_api/handler.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <charconv>

#include "k8s.io/api/authentication/v1/authentication.pb.h"
#include "k8s.io/api/certificates/v1/certificates.pb.h"
#include "k8s.io/api/core/v1/cluster.pb.h"
#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/namespace.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/policy/v1/policy.pb.h"
#include "k8s.io/apimachinery/pkg/apis/meta/v1/meta.pb.h"
#include "k8s.io/apimachinery/pkg/apis/meta/v1/options.pb.h"
#include "libs/fake_api/discovery.h"
#include "libs/fake_api/patch.h"
#include "libs/kube/codec.h"
#include "libs/kube/type_info.h"

namespace splitlet::fake_api {

using apiclient::Request;
using apiclient::Response;

namespace {

namespace core = k8s::io::api::core::v1;
namespace meta = k8s::io::apimachinery::pkg::apis::meta::v1;
using google::protobuf::Message;

int64_t NumberOf(const std::string& text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string ValueOf(const std::map<std::string, std::string>& query, const std::string& key) {
  const auto it = query.find(key);
  return it == query.end() ? std::string() : it->second;
}

Status NoSuch(const Place& place) {
  return NotFound("{} \"{}\" not found", place.kind->full_name(), place.name);
}

StatusOr<std::unique_ptr<Message>> Patched(const Request& request, const Message& before) {
  const auto patch = ParseJson(request.body);
  const auto document = ParseJson(kube::ToJson(before));
  if (!patch.ok()) return patch.status();
  if (!document.ok()) return document.status();
  const std::string& type = request.content_type;
  StatusOr<Json> after = DataLoss("the body of the request was in an unknown format: {}", type);
  if (type.starts_with("application/merge-patch+json")) {
    after = MergePatch(*document, *patch);
  } else if (type.starts_with("application/json-patch+json")) {
    after = JsonPatch(*document, *patch);
  } else if (type.starts_with("application/strategic-merge-patch+json") ||
             type.starts_with("application/apply-patch")) {
    after = StrategicMergePatch(*document, *patch, &kube::TypeInfoOf(*before.GetDescriptor()));
  }
  if (!after.ok()) return after.status();
  std::unique_ptr<Message> object(before.New());
  const auto read =
      kube::DecodeInto(WriteJson(*after), "patched", kube::Strictness::kLenient, *object);
  if (!read.ok()) return FailedPrecondition(splitlet::Message(read.status()));
  return object;
}

DeleteRequest FromOptions(const meta::DeleteOptions& options) {
  DeleteRequest request{.uid = options.preconditions().uid(),
                        .resource_version = options.preconditions().resource_version()};
  if (options.has_grace_period_seconds())
    request.grace_period_seconds = options.grace_period_seconds();
  return request;
}

void SetCondition(core::Pod& pod, const core::PodCondition& condition) {
  for (auto& present : *pod.mutable_status()->mutable_conditions()) {
    if (present.type() == condition.type()) return present.CopyFrom(condition);
  }
  *pod.mutable_status()->add_conditions() = condition;
}

/// Binds a pod to a node, and sets the scheduler's condition.
std::unique_ptr<Message> Bound(const core::Pod& pod, const std::string& node, WallTime now) {
  auto bound = std::make_unique<core::Pod>(pod);
  bound->mutable_spec()->set_node_name(node);
  core::PodCondition condition;
  condition.set_type("PodScheduled");
  condition.set_status("True");
  condition.mutable_last_transition_time()->set_seconds(ToNanos(now) / 1'000'000'000);
  SetCondition(*bound, condition);
  return bound;
}

}  // namespace

std::map<std::string, std::string> ParseQuery(std::string_view path) {
  std::map<std::string, std::string> query;
  const size_t mark = path.find('?');
  std::string_view rest = mark == std::string_view::npos ? "" : path.substr(mark + 1);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view part = rest.substr(0, end);
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view value = part.substr(std::min(equals + 1, part.size()));
    query[Unescaped(part.substr(0, equals))] = Unescaped(value);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return query;
}

Handler::Handler(const Clock& clock, uint64_t seed, size_t window, Store::OnChange on_change)
    : clock_(clock), random_(seed), store_(window, std::move(on_change)) {
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"})
    EnsureNamespace(name);
}

const FakeAuthority& Handler::authority() {
  if (authority_ == nullptr)
    authority_ = std::make_unique<FakeAuthority>("fake-api", clock_.WallNow());
  return *authority_;
}

Handler::Call Handler::MakeCall(const Request& request, const FakeUser& user, Place place) {
  Call call{.request = request,
            .user = user,
            .place = std::move(place),
            .query = ParseQuery(request.path),
            .format = FormatOf(request.accept)};
  call.dry_run = !ValueOf(call.query, "dryRun").empty();
  call.strict = ValueOf(call.query, "fieldValidation") == "Strict";
  return call;
}

Response Handler::Serve(const Request& request, const FakeUser& user) {
  const std::string path = request.path.substr(0, request.path.find('?'));
  if (request.method == "GET") {
    if (auto document = Discover(path)) return *document;
  }
  const auto place = ParsePath(path);
  const Format format = FormatOf(request.accept);
  if (!place)
    return ErrorResponse(NotFound("the server could not find the requested resource"), nullptr,
                         format);
  const Call call = MakeCall(request, user, *place);
  const auto answer = Dispatch(call);
  return answer.ok() ? *answer : ErrorResponse(answer.status(), &call.place, format);
}

StatusOr<Response> Handler::Dispatch(const Call& call) {
  const std::string& method = call.request.method;
  const auto& known = call.place.kind->subresources;
  const std::string& subresource = call.place.subresource;
  if (!subresource.empty() && std::find(known.begin(), known.end(), subresource) == known.end())
    return NotFound("the server could not find the requested resource");
  const bool collection = call.place.name.empty();
  if (call.place.kind->list == nullptr && method != "POST")
    return Unimplemented("the server does not allow this method on the requested resource");
  if (method == "GET") return collection ? List(call) : Get(call);
  if (method == "POST") return Post(call);
  if (method == "DELETE") return collection ? DeleteAll(call) : Delete(call);
  if (!collection && method == "PUT") return Update(call);
  if (!collection && method == "PATCH") return Patch(call);
  return Unimplemented("the server does not allow this method on the requested resource");
}

StatusOr<Object> Handler::Existing(const Place& place) const {
  Object object = store_.Find(*place.kind, place.key());
  if (object == nullptr) return NoSuch(place);
  return object;
}

StatusOr<Selector> Handler::SelectorOf(const Call& call) const {
  return Selector::Parse(*call.place.kind, ValueOf(call.query, "labelSelector"),
                         ValueOf(call.query, "fieldSelector"));
}

Status Handler::CheckNamespace(const Place& place) const {
  if (!place.kind->namespaced || place.name_space.empty()) return OkStatus();
  const Object found = store_.Find(FindKind("namespaces"), place.name_space);
  if (found == nullptr) return NotFound("namespaces \"{}\" not found", place.name_space);
  if (!MetaOf(*found).has_deletion_timestamp()) return OkStatus();
  return PermissionDenied(
      "unable to create new content in namespace {} because it is being "
      "terminated",
      place.name_space);
}

StatusOr<Response> Handler::Get(const Call& call) {
  const auto object = Existing(call.place);
  if (!object.ok()) return object.status();
  return ObjectResponse(200, **object, *call.place.kind, call.format);
}

StatusOr<Response> Handler::List(const Call& call) {
  const auto selector = SelectorOf(call);
  if (!selector.ok()) return selector.status();
  const std::string wanted = ValueOf(call.query, "resourceVersion");
  if (NumberOf(wanted) > store_.revision())
    return DeadlineExceeded("Timeout: Too large resource version: {}, current: {}", wanted,
                            store_.revision());
  const auto page =
      store_.ListPage({.kind = *call.place.kind,
                       .name_space = call.place.name_space,
                       .selector = *selector,
                       .limit = static_cast<size_t>(NumberOf(ValueOf(call.query, "limit"))),
                       .next = ValueOf(call.query, "continue")});
  if (!page.ok()) return page.status();
  meta::ListMeta list;
  list.set_resource_version(std::to_string(page->revision));
  if (!page->next.empty()) {
    list.set_continue_(page->next);
    list.set_remaining_item_count(static_cast<int64_t>(page->remaining));
  }
  return Response{.code = 200,
                  .content_type = std::string(ContentTypeOf(call.format)),
                  .body = EncodeList(*call.place.kind, list, page->items, call.format)};
}

bool Handler::IsWatch(const Request& request) {
  if (request.method != "GET") return false;
  const std::string watch = ValueOf(ParseQuery(request.path), "watch");
  return watch == "true" || watch == "1";
}

Watches::WatchPtr Handler::OpenWatch(const Request& request) {
  auto watch = std::make_shared<Watches::Watch>();
  const auto place = ParsePath(request.path.substr(0, request.path.find('?')));
  watch->format = FormatOf(request.accept);
  const FakeUser nobody;
  const auto refuse = [&](const Status& status) {
    watch->end = ErrorResponse(status, place ? &*place : nullptr, watch->format);
    return watch;
  };
  if (!place || place->kind->list == nullptr)
    return refuse(NotFound("the server could not find the requested resource"));
  const Call call = MakeCall(request, nobody, *place);
  const auto selector = SelectorOf(call);
  if (!selector.ok()) return refuse(selector.status());
  watch->kind = place->kind;
  watch->name_space = place->name_space;
  watch->name = place->name;
  watch->selector = *selector;
  watch->bookmarks = ValueOf(call.query, "allowWatchBookmarks") == "true";
  if (const int64_t seconds = NumberOf(ValueOf(call.query, "timeoutSeconds")); seconds > 0)
    watch->until = clock_.Now() + std::chrono::seconds{seconds};
  const std::string from = ValueOf(call.query, "resourceVersion");
  if (from.empty() || from == "0") {
    Watches::SendAll(*watch, store_.List(*place->kind, place->name_space));
    if (ValueOf(call.query, "sendInitialEvents") == "true")
      Watches::Bookmark(*watch, store_.revision(), true);
    return watch;
  }
  const auto since = store_.Since(NumberOf(from));
  if (!since.ok()) {
    watch->frames.push_back(EncodeErrorEvent(since.status(), watch->format));
    watch->end = Response{.code = 200};
    return watch;
  }
  for (const auto* change : *since) Watches::Send(*watch, *change);
  return watch;
}

StatusOr<Response> Handler::Post(const Call& call) {
  const Place& place = call.place;
  if (place.subresource == "binding") return Bind(call);
  if (place.subresource == "eviction") return Evict(call);
  if (place.subresource == "token") return MakeToken(call);
  if (!place.name.empty())
    return Unimplemented("the server does not allow this method on the requested resource");
  auto object = DecodeBody(call.request, *place.kind->item, call.strict);
  if (!object.ok()) return object.status();
  if (place.kind->list != nullptr) return Create(call, std::move(*object));
  reviews_.Answer(**object, call.user, clock_.WallNow());
  return ObjectResponse(201, **object, *place.kind, call.format);
}

StatusOr<Response> Handler::Create(const Call& call, std::unique_ptr<Message> object) {
  Place place = call.place;
  const std::string& name_space = MetaOf(*object).namespace_();
  if (!name_space.empty() && place.kind->namespaced && name_space != place.name_space)
    return InvalidArgument(
        "the namespace of the provided object does not match the namespace sent "
        "on the request");
  if (Status checked = CheckNamespace(place); !checked.ok()) return checked;
  const Status prepared = PrepareCreate(place, *object, Rules());
  place.name = MetaOf(*object).name();
  // The path of a creation lacks the name, but a refusal contains it.
  if (!prepared.ok()) return ErrorResponse(prepared, &place, call.format);
  if (place.kind->resource == "pods") AddPullSecrets(place, *object);
  if (store_.Find(*place.kind, place.key()) != nullptr)
    return ErrorResponse(
        AlreadyExists("{} \"{}\" already exists", place.kind->full_name(), place.name), &place,
        call.format);
  using Csr = k8s::io::api::certificates::v1::CertificateSigningRequest;
  if (auto* csr = dynamic_cast<Csr*>(object.get())) {
    csr->mutable_spec()->set_username(call.user.name);
    const auto& groups = call.user.groups;
    csr->mutable_spec()->mutable_groups()->Assign(groups.begin(), groups.end());
  }
  if (call.dry_run) return ObjectResponse(201, *object, *place.kind, call.format);
  const Object written = Write(place, std::move(object));
  return ObjectResponse(201, *written, *place.kind, call.format);
}

StatusOr<Response> Handler::Update(const Call& call) {
  const Place& place = call.place;
  auto given = DecodeBody(call.request, *place.kind->item, call.strict);
  if (!given.ok()) return given.status();
  auto& meta = MetaOf(**given);
  if (meta.name() != place.name)
    return InvalidArgument("the name of the object ({}) does not match the name on the URL ({})",
                           meta.name(), place.name);
  const Object before = store_.Find(*place.kind, place.key());
  if (before != nullptr) return Replace(call, before, **given);
  if (!place.kind->create_on_update || !place.subresource.empty()) return NoSuch(place);
  meta.clear_resource_version();
  return Create(call, std::move(*given));
}

StatusOr<Response> Handler::Patch(const Call& call) {
  const Object before = store_.Find(*call.place.kind, call.place.key());
  const bool apply = call.request.content_type.starts_with("application/apply-patch");
  if (before == nullptr && apply) {
    Request create = call.request;
    create.content_type = "application/yaml";
    auto object = DecodeBody(create, *call.place.kind->item, call.strict);
    if (!object.ok()) return object.status();
    return Create(call, std::move(*object));
  }
  if (before == nullptr) return NoSuch(call.place);
  const auto given = Patched(call.request, *before);
  if (!given.ok()) return given.status();
  return Replace(call, before, **given);
}

StatusOr<Response> Handler::Replace(const Call& call, const Object& before, const Message& given) {
  auto after = PrepareUpdate(call.place, *before, given);
  if (!after.ok()) return after.status();
  const Kind& kind = *call.place.kind;
  // A write that changes nothing gets no new revision.
  if (SameObject(*before, **after)) return ObjectResponse(200, *before, kind, call.format);
  if (call.dry_run) return ObjectResponse(200, **after, kind, call.format);
  if (EndsWithUpdate(**after)) {
    Erase(call.place);
    return ObjectResponse(200, **after, kind, call.format);
  }
  const Object written = Write(call.place, std::move(*after));
  return ObjectResponse(200, *written, kind, call.format);
}

StatusOr<Object> Handler::DeleteOne(const Place& place, const DeleteRequest& request,
                                    bool dry_run) {
  const auto before = Existing(place);
  if (!before.ok()) return before.status();
  auto deletion = PrepareDelete(place, **before, request, clock_.WallNow());
  if (!deletion.ok()) return deletion.status();
  if (dry_run) return *before;
  if (deletion->remove) {
    Erase(place);
  } else if (deletion->updated != nullptr) {
    return Write(place, std::move(deletion->updated));
  }
  return *before;
}

StatusOr<Response> Handler::Delete(const Call& call) {
  Request body = call.request;
  DeleteRequest request;
  if (!body.body.empty()) {
    const auto options = DecodeBody(body, meta::DeleteOptions::default_instance(), false);
    if (!options.ok()) return options.status();
    request = FromOptions(static_cast<const meta::DeleteOptions&>(**options));
  }
  if (const std::string grace = ValueOf(call.query, "gracePeriodSeconds"); !grace.empty())
    request.grace_period_seconds = NumberOf(grace);
  const auto last = DeleteOne(call.place, request, call.dry_run);
  if (!last.ok()) return last.status();
  const bool there = store_.Find(*call.place.kind, call.place.key()) != nullptr;
  if (there || call.place.kind == &PodKind())
    return ObjectResponse(200, **last, *call.place.kind, call.format);
  return SuccessResponse(200, call.place, MetaOf(**last).uid(), call.format);
}

StatusOr<Response> Handler::DeleteAll(const Call& call) {
  const auto selector = SelectorOf(call);
  if (!selector.ok()) return selector.status();
  for (const auto& object : store_.List(*call.place.kind, call.place.name_space)) {
    if (!selector->Matches(*object)) continue;
    const auto& meta = MetaOf(*object);
    const auto gone =
        DeleteOne({call.place.kind, meta.namespace_(), meta.name(), {}}, {}, call.dry_run);
    if (!gone.ok()) return gone.status();
  }
  return SuccessResponse(200, call.place, "", call.format);
}

StatusOr<Response> Handler::Bind(const Call& call) {
  const auto binding = DecodeBody(call.request, core::Binding::default_instance(), false);
  if (!binding.ok()) return binding.status();
  const auto object = Existing(call.place);
  if (!object.ok()) return object.status();
  const auto& pod = static_cast<const core::Pod&>(**object);
  const std::string& node = static_cast<const core::Binding&>(**binding).target().name();
  if (!pod.spec().node_name().empty())
    return Aborted(
        "Operation cannot be fulfilled on pods/binding \"{}\": pod {} is already "
        "assigned to node \"{}\"",
        call.place.name, call.place.name, pod.spec().node_name());
  Write(call.place, Bound(pod, node, clock_.WallNow()));
  return SuccessResponse(201, call.place, "", call.format);
}

StatusOr<Response> Handler::Evict(const Call& call) {
  namespace policy = k8s::io::api::policy::v1;
  const auto eviction = DecodeBody(call.request, policy::Eviction::default_instance(), false);
  if (!eviction.ok()) return eviction.status();
  const auto object = Existing(call.place);
  if (!object.ok()) return object.status();
  const auto& pod = static_cast<const core::Pod&>(**object);
  for (const auto& budget : store_.List(FindKind("poddisruptionbudgets"), call.place.name_space)) {
    const auto& pdb = static_cast<const policy::PodDisruptionBudget&>(*budget);
    const auto& labels = pdb.spec().selector().match_labels();
    const bool covers =
        !labels.empty() && std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
          const auto it = pod.metadata().labels().find(label.first);
          return it != pod.metadata().labels().end() && it->second == label.second;
        });
    if (covers && pdb.status().disruptions_allowed() <= 0)
      return ResourceExhausted("Cannot evict pod as it would violate the pod's disruption budget.");
  }
  const auto& options = static_cast<const policy::Eviction&>(**eviction).delete_options();
  auto marked = std::make_unique<core::Pod>(pod);
  core::PodCondition condition;
  condition.set_type("DisruptionTarget");
  condition.set_status("True");
  condition.set_reason("EvictionByEvictionAPI");
  condition.set_message("Eviction API: evicting");
  condition.mutable_last_transition_time()->set_seconds(ToNanos(clock_.WallNow()) / 1'000'000'000);
  SetCondition(*marked, condition);
  if (call.dry_run) return SuccessResponse(201, call.place, "", call.format);
  if (!pod.metadata().has_deletion_timestamp()) Write(call.place, std::move(marked));
  const auto gone = DeleteOne(call.place, FromOptions(options), false);
  if (!gone.ok()) return gone.status();
  return SuccessResponse(201, call.place, "", call.format);
}

StatusOr<Response> Handler::MakeToken(const Call& call) {
  namespace authentication = k8s::io::api::authentication::v1;
  auto read = DecodeBody(call.request, authentication::TokenRequest::default_instance(), false);
  if (!read.ok()) return read.status();
  auto& request = static_cast<authentication::TokenRequest&>(**read);
  const Reviews::TokenContext context{store_, call.place, clock_.WallNow(), random_};
  if (Status done = reviews_.AnswerTokenRequest(request, context); !done.ok()) return done;
  return Response{
      .code = 201,
      .content_type = std::string(ContentTypeOf(call.format)),
      .body = Encode(request, {"authentication.k8s.io/v1", "TokenRequest"}, call.format)};
}

Object Handler::Write(const Place& place, std::unique_ptr<Message> object) {
  const Object written = store_.Write(*place.kind, place.key(), std::move(object));
  React(place, *written);
  return written;
}

void Handler::Erase(const Place& place) { store_.Erase(*place.kind, place.key()); }

void Handler::Put(const Place& place, const Message& object) {
  CHECK(!place.name.empty() && place.subresource.empty(), "{} is no object", PathOf(place));
  EnsureNamespace(place.name_space);
  auto fresh = Copy(object);
  const kube::ObjectMeta given = MetaOf(object);
  Object before = store_.Find(*place.kind, place.key());
  if (before != nullptr && !given.uid().empty() && given.uid() != MetaOf(*before).uid()) {
    Erase(place);
    before = nullptr;
  }
  auto& meta = MetaOf(*fresh);
  meta.set_name(place.name);
  meta.clear_resource_version();
  const Status made = PrepareCreate(place, *fresh, Rules());
  CHECK(made.ok(), "{}: {}", PathOf(place), made);
  const auto* status = object.GetDescriptor()->FindFieldByName("status");
  if (place.kind->has_status && object.GetReflection()->HasField(object, status)) {
    CopyField(object, *fresh, "status");
  } else if (before != nullptr && place.kind->has_status) {
    CopyField(*before, *fresh, "status");
  }
  const kube::ObjectMeta* old = before == nullptr ? nullptr : &MetaOf(*before);
  if (old != nullptr) {
    meta.set_uid(old->uid());
    *meta.mutable_creation_timestamp() = old->creation_timestamp();
    const bool same = SameField(*before, *fresh, "spec");
    if (place.kind->has_generation) meta.set_generation(old->generation() + (same ? 0 : 1));
  }
  if (!given.uid().empty()) meta.set_uid(given.uid());
  if (given.has_creation_timestamp())
    *meta.mutable_creation_timestamp() = given.creation_timestamp();
  const kube::ObjectMeta& end = given.has_deletion_timestamp() || old == nullptr ? given : *old;
  if (end.has_deletion_timestamp()) {
    *meta.mutable_deletion_timestamp() = end.deletion_timestamp();
    meta.set_deletion_grace_period_seconds(end.deletion_grace_period_seconds());
  }
  if (given.has_generation() && place.kind->has_generation) meta.set_generation(given.generation());
  if (old != nullptr) meta.set_resource_version(old->resource_version());
  if (old == nullptr || !SameObject(*before, *fresh)) Write(place, std::move(fresh));
}

bool Handler::Remove(const Place& place) {
  if (store_.Find(*place.kind, place.key()) == nullptr) return false;
  Erase(place);
  return true;
}

// Controllers.

void Handler::React(const Place& place, const Message& object) {
  const std::string& resource = place.kind->resource;
  if (resource == "namespaces" && !MetaOf(object).has_deletion_timestamp())
    FillNamespace(place.name);
  if (resource == "certificatesigningrequests" && settings_.signing) Certify(place, object);
  if (resource == "pods" && settings_.scheduling) Schedule(place, object);
}

void Handler::EnsureNamespace(const std::string& name) {
  const Kind& kind = FindKind("namespaces");
  if (name.empty() || store_.Find(kind, name) != nullptr) return;
  auto made = std::make_unique<core::Namespace>();
  const Place place{&kind, {}, name, {}};
  made->mutable_metadata()->set_name(name);
  const Status prepared = PrepareCreate(place, *made, Rules());
  CHECK(prepared.ok(), "namespace {}: {}", name, prepared);
  Write(place, std::move(made));
}

void Handler::FillNamespace(const std::string& name) {
  const auto make = [&](const char* resource, std::unique_ptr<Message> object) {
    const Place place{&FindKind(resource), name, MetaOf(*object).name(), {}};
    if (store_.Find(*place.kind, place.key()) != nullptr) return;
    const Status prepared = PrepareCreate(place, *object, Rules());
    CHECK(prepared.ok(), "{}: {}", PathOf(place), prepared);
    Write(place, std::move(object));
  };
  auto account = std::make_unique<core::ServiceAccount>();
  account->mutable_metadata()->set_name("default");
  make("serviceaccounts", std::move(account));
  if (!settings_.publish_ca) return;
  auto root = std::make_unique<core::ConfigMap>();
  root->mutable_metadata()->set_name("kube-root-ca.crt");
  (*root->mutable_data())["ca.crt"] = authority().certificate();
  make("configmaps", std::move(root));
}

void Handler::AddPullSecrets(const Place& place, Message& object) const {
  auto& spec = *static_cast<core::Pod&>(object).mutable_spec();
  if (spec.service_account_name().empty() || spec.image_pull_secrets_size() > 0) return;
  const Place account{
      &FindKind("serviceaccounts"), place.name_space, spec.service_account_name(), {}};
  const Object found = store_.Find(*account.kind, account.key());
  if (found == nullptr) return;
  *spec.mutable_image_pull_secrets() =
      static_cast<const core::ServiceAccount&>(*found).image_pull_secrets();
}

void Handler::Certify(const Place& place, const Message& object) {
  using Csr = k8s::io::api::certificates::v1::CertificateSigningRequest;
  auto csr = std::make_unique<Csr>(static_cast<const Csr&>(object));
  const bool decided = HasCondition(*csr, "Approved") || HasCondition(*csr, "Denied");
  if (!decided && IsKubeletRequest(*csr)) {
    AddCondition(*csr, "Approved", "AutoApproved", clock_.WallNow());
    Write(place, std::move(csr));  // calls Certify again, which then signs the request
    return;
  }
  if (!HasCondition(*csr, "Approved") || HasCondition(*csr, "Failed") ||
      !csr->status().certificate().empty())
    return;
  SignRequest(*csr, authority(), clock_.WallNow());
  Write(place, std::move(csr));
}

void Handler::Schedule(const Place& place, const Message& object) {
  const auto& pod = static_cast<const core::Pod&>(object);
  const auto nodes = store_.List(FindKind("nodes"), "");
  if (!pod.spec().node_name().empty() || nodes.size() != 1 ||
      pod.metadata().has_deletion_timestamp())
    return;
  Write(place, Bound(pod, MetaOf(*nodes.front()).name(), clock_.WallNow()));
}

}  // namespace splitlet::fake_api
