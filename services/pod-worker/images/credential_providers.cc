#include "services/pod-worker/images/credential_providers.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <utility>

#include "libs/config/scalars.h"
#include "splitlet/v1/credential_provider.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr const char* kState = "credential-providers";

bool IsFor(const CredentialProvider& provider, const std::string& repository) {
  return std::ranges::any_of(provider.match_images, [&repository](const std::string& pattern) {
    return KeyMatches(pattern, repository);
  });
}

/// What answers of each `cacheKeyType` are kept by; the narrowest first.
std::string ImageKey(const std::string& repository) { return "image " + repository; }
std::string RegistryKey(const std::string& repository) {
  return "registry " + repository.substr(0, repository.find('/'));
}
constexpr const char* kGlobalKey = "global";

StatusOr<std::string> KeyOf(const std::string& type, const std::string& repository) {
  if (type == "Image") return ImageKey(repository);
  if (type == "Registry") return RegistryKey(repository);
  if (type == "Global") return std::string(kGlobalKey);
  return InvalidArgument("cacheKeyType: want Image, Registry or Global");
}

std::string RequestFor(const CredentialProvider& provider, const std::string& repository) {
  v1::CredentialProviderRequest request;
  request.set_kind("CredentialProviderRequest");
  request.set_api_version(provider.api_version);
  request.set_image(repository);
  std::string json;
  CHECK(google::protobuf::util::MessageToJsonString(request, &json).ok(), "a request as JSON");
  return json;
}

StatusOr<v1::CredentialProviderResponse> ReadResponse(const CredentialProvider& provider,
                                                      const std::string& text) {
  v1::CredentialProviderResponse response;
  google::protobuf::util::JsonParseOptions lenient;
  lenient.ignore_unknown_fields = true;
  if (!google::protobuf::util::JsonStringToMessage(text, &response, lenient).ok())
    return InvalidArgument("not a CredentialProviderResponse in JSON");
  if (response.kind() != "CredentialProviderResponse")
    return InvalidArgument("kind: want CredentialProviderResponse");
  if (response.api_version() != provider.api_version)
    return InvalidArgument("apiVersion: want {}", provider.api_version);
  return response;
}

}  // namespace

/// One who waits for the answers of all plugins that are for a repository.
struct CredentialProviders::Search {
  std::string repository;
  Found found;
  std::map<size_t, Keyring> answers;  // by provider
  size_t missing = 0;

  void OnAnswer(size_t provider, const Keyring& keyring) {
    answers[provider] = keyring;
    if (--missing == 0) Finish();
  }
  void Finish() const {
    Keyring all;
    for (const auto& [provider, keyring] : answers) all.Append(keyring);
    found(all.For(repository));
  }
};

void CredentialProviders::Find(const std::string& repository, Found found) {
  const auto is_for = [&repository](const auto& provider) { return IsFor(provider, repository); };
  if (std::ranges::none_of(providers_, is_for)) return found({});
  auto search =
      std::make_shared<Search>(Search{.repository = repository, .found = std::move(found)});
  deps_.strands.Run(kState, [this, search] { Begin(search); });
}

void CredentialProviders::Begin(const std::shared_ptr<Search>& search) {
  const std::string& repository = search->repository;
  for (size_t i = 0; i < providers_.size(); ++i) {
    if (!IsFor(providers_[i], repository)) continue;
    if (const Keyring* kept = FindKept(i, repository)) {
      search->answers[i] = *kept;
      continue;
    }
    ++search->missing;
    auto& waiting = asked_[{i, repository}];
    waiting.push_back(search);
    if (waiting.size() > 1) continue;
    deps_.strands.Run(fmt::format("{}/{}/{}", kState, providers_[i].name, repository),
                      [this, i, repository] {
                        Run({i, repository});
                      });
  }
  if (search->missing == 0) search->Finish();
}

void CredentialProviders::Run(const Question& question) {
  const CredentialProvider& provider = providers_[question.first];
  const auto begun = deps_.clock.Now();
  auto answer = Ask(provider, question.second);
  deps_.metrics.ObservePlugin(provider.name, deps_.clock.Now() - begun, answer.ok());
  deps_.strands.Run(kState, [this, question, answer] { OnAnswer(question, answer); });
}

/// Forgets on the way what is over.
const Keyring* CredentialProviders::FindKept(size_t provider, const std::string& repository) {
  std::erase_if(kept_,
                [now = deps_.clock.Now()](const auto& one) { return one.second.until <= now; });
  for (const auto& key : {ImageKey(repository), RegistryKey(repository), std::string(kGlobalKey)})
    if (const auto found = kept_.find({provider, key}); found != kept_.end())
      return &found->second.keyring;
  return nullptr;
}

StatusOr<CredentialProviders::Answer> CredentialProviders::Ask(const CredentialProvider& provider,
                                                               const std::string& repository) {
  ASSIGN_OR_RETURN(const std::string text,
                   deps_.run({.argv = provider.argv,
                              .env = provider.env,
                              .input = RequestFor(provider, repository),
                              .limit = kMaxRun,
                              .max_output_bytes = kMaxAnswer,
                              .cancel = &stop_,
                              .secret_output = true}),
                   "credential provider plugin");
  ASSIGN_OR_RETURN(const auto response, ReadResponse(provider, text), "answer");
  Answer answer{.keep = provider.keep};
  ASSIGN_OR_RETURN(answer.key, KeyOf(response.cache_key_type(), repository), "answer");
  if (!response.cache_duration().empty()) {
    ASSIGN_OR_RETURN(answer.keep, config::ParseGoDuration(response.cache_duration()),
                     "answer: cacheDuration");
  }
  RETURN_IF_ERROR(answer.keyring.Add(text, Keyring::Shape::kAuth, std::nullopt), "answer: auth");
  return answer;
}

void CredentialProviders::OnAnswer(const Question& question, const StatusOr<Answer>& answer) {
  const auto waiting = std::exchange(asked_[question], {});
  asked_.erase(question);
  const auto& [provider, repository] = question;
  if (!answer.ok()) {
    deps_.log.Warn("a credential provider plugin is of no use",
                   {KV("plugin", providers_[provider].name), KV("repository", repository),
                    KV("err", answer.status())});
  } else if (answer->keep > Duration{0}) {
    kept_[{provider, answer->key}] = {answer->keyring, deps_.clock.Now() + answer->keep};
  }
  for (const auto& search : waiting)
    search->OnAnswer(provider, answer.ok() ? answer->keyring : Keyring());
}

}  // namespace splitlet::pod_worker
