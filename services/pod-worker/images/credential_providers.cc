#include "services/pod-worker/images/credential_providers.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <utility>

#include "libs/config/scalars.h"
#include "splitlet/v1/credential_provider.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr const char* kState = "credential-providers";

/// The keys of kept answers, one for each `cacheKeyType`; the narrowest first.
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

std::string RequestFor(const CredentialProvider& provider, const std::string& repository,
                       const PluginAccount* account) {
  v1::CredentialProviderRequest request;
  request.set_kind("CredentialProviderRequest");
  request.set_api_version(provider.api_version);
  request.set_image(repository);
  if (account != nullptr) {
    request.set_service_account_token(account->token);
    request.mutable_service_account_annotations()->insert(account->annotations.begin(),
                                                          account->annotations.end());
  }
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

/// The plugin's error, unless it may hold a part of the token: the plugin may have written the
/// token to stderr, where it was cut off.
Status WithoutToken(const Status& status, const PluginAccount* account) {
  constexpr size_t kLeak = 16;
  if (account == nullptr) return status;
  const std::string begin = account->token.substr(0, kLeak);
  if (begin.empty() || Message(status).find(begin) == std::string::npos) return status;
  return MakeStatus(status.code(),
                    "the plugin failed; its error is hidden because it holds the token");
}

}  // namespace

/// A pull that waits for the answers of all plugins that match its repository.
struct CredentialProviders::Search {
  std::string repository;
  TokenOwner pod;
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

void CredentialProviders::Find(const std::string& repository, const TokenOwner& pod, Found found) {
  const auto is_for = [&repository](const auto& provider) { return IsFor(provider, repository); };
  if (std::ranges::none_of(providers_, is_for)) return found({});
  auto search = std::make_shared<Search>(
      Search{.repository = repository, .pod = pod, .found = std::move(found)});
  deps_.strands.Run(kState, [this, search] { Begin(search); });
}

void CredentialProviders::Begin(const SearchPtr& search) {
  std::vector<size_t> asked;
  for (size_t i = 0; i < providers_.size(); ++i)
    if (IsFor(providers_[i], search->repository)) asked.push_back(i);
  search->missing = asked.size();  // before the first answers
  for (const size_t i : asked) Consider(search, i);
}

/// First reads the pod's service account, if the plugin wants it.
void CredentialProviders::Consider(const SearchPtr& search, size_t provider) {
  const auto& attributes = providers_[provider].token;
  if (!attributes) return AskOnce(search, provider, nullptr);
  if (search->pod.service_account.empty())
    return attributes->require_account ? search->OnAnswer(provider, {})
                                       : AskOnce(search, provider, nullptr);
  if (deps_.accounts == nullptr)
    return OnAccount(search, provider, FailedPrecondition("this node has no API server"));
  deps_.loop.Post([this, search, provider] {
    deps_.accounts->GetAccount(search->pod, [=, this](const StatusOr<PodAccount>& account) {
      deps_.strands.Run(kState, [=, this] { OnAccount(search, provider, account); });
    });
  });
}

/// An account without a required annotation does not take part.
void CredentialProviders::OnAccount(const SearchPtr& search, size_t provider,
                                    const StatusOr<PodAccount>& account) {
  if (!account.ok())
    return OnToken(search, provider, nullptr, Annotate(account.status(), "service account"));
  const TokenAttributes& attributes = *providers_[provider].token;
  auto annotations = AnnotationsFor(attributes, account->annotations);
  if (!annotations) return search->OnAnswer(provider, {});
  const TokenOwner& pod = search->pod;
  auto known = std::make_shared<PluginAccount>(
      PluginAccount{.who = {account->uid, pod.name_space, pod.service_account},
                    .annotations = *std::move(annotations)});
  deps_.loop.Post([=, this] {
    const auto& audience = providers_[provider].token->audience;
    const auto on_token = [=, this](const StatusOr<std::string>& token) {
      if (token.ok()) known->token = *token;
      deps_.strands.Run(
          kState, [=, this, status = token.status()] { OnToken(search, provider, known, status); });
    };
    deps_.accounts->GetToken(search->pod, known->who.uid, audience, on_token);
  });
}

void CredentialProviders::OnToken(const SearchPtr& search, size_t provider,
                                  const AccountPtr& account, const Status& status) {
  if (status.ok()) return AskOnce(search, provider, account);
  ReportFailed({provider, search->repository, {}}, status);
  search->OnAnswer(provider, {});
}

void CredentialProviders::AskOnce(const SearchPtr& search, size_t provider,
                                  const AccountPtr& account) {
  Question question{provider, search->repository, {}};
  if (account != nullptr)
    question.account = AnswerKey(providers_[provider].token->cache_type, *account);
  if (const Keyring* kept = FindKept(question)) return search->OnAnswer(provider, *kept);
  auto& waiting = asked_[question];
  waiting.push_back(search);
  if (waiting.size() > 1) return;
  deps_.strands.Run(fmt::format("{}/{}/{}/{}", kState, providers_[provider].name,
                                question.repository, question.account),
                    [this, question, account] { Run(question, account); });
}

void CredentialProviders::Run(const Question& question, const AccountPtr& account) {
  const CredentialProvider& provider = providers_[question.provider];
  const auto began = deps_.clock.Now();
  auto answer = Ask(question, account.get());
  deps_.metrics.ObservePlugin(provider.name, deps_.clock.Now() - began, answer.ok());
  deps_.strands.Run(kState, [this, question, answer] { OnAnswer(question, answer); });
}

/// Also drops the answers whose time is over.
const Keyring* CredentialProviders::FindKept(const Question& question) {
  std::erase_if(kept_,
                [now = deps_.clock.Now()](const auto& one) { return one.second.until <= now; });
  const auto& [provider, repository, account] = question;
  for (const auto& key : {ImageKey(repository), RegistryKey(repository), std::string(kGlobalKey)})
    if (const auto found = kept_.find({provider, key, account}); found != kept_.end())
      return &found->second.keyring;
  return nullptr;
}

StatusOr<CredentialProviders::Answer> CredentialProviders::Ask(const Question& question,
                                                               const PluginAccount* account) {
  const CredentialProvider& provider = providers_[question.provider];
  const auto text = deps_.run({.argv = provider.argv,
                               .env = provider.env,
                               .input = RequestFor(provider, question.repository, account),
                               .limit = kMaxRun,
                               .max_output_bytes = kMaxAnswer,
                               .cancel = &stop_,
                               .secret_output = true});
  if (!text.ok())
    return Annotate(WithoutToken(text.status(), account), "credential provider plugin");
  ASSIGN_OR_RETURN(const auto response, ReadResponse(provider, *text), "answer");
  Answer answer{.keep = provider.keep};
  ASSIGN_OR_RETURN(answer.key, KeyOf(response.cache_key_type(), question.repository), "answer");
  if (!response.cache_duration().empty()) {
    const auto keep = config::ParseGoDuration(response.cache_duration());
    // The error does not quote the answer, which may hold a secret.
    if (!keep.ok()) return InvalidArgument("answer: cacheDuration: not a duration");
    answer.keep = *keep;
  }
  RETURN_IF_ERROR(answer.keyring.Add(*text, Keyring::Shape::kAuth, std::nullopt), "answer: auth");
  if (account == nullptr) return answer;
  // All pods of the account share such an answer, also after the token has expired.
  if (provider.token->cache_type != TokenAttributes::CacheType::kToken &&
      answer.keyring.HasPassword(account->token))
    return InvalidArgument(
        "answer: auth: the service account token is a password: needs cacheType Token");
  answer.keyring.SetAccount(account->who);
  return answer;
}

void CredentialProviders::OnAnswer(const Question& question, const StatusOr<Answer>& answer) {
  const auto waiting = std::exchange(asked_[question], {});
  asked_.erase(question);
  const auto& [provider, repository, account] = question;
  if (!answer.ok()) {
    ReportFailed(question, answer.status());
  } else if (answer->keep > Duration{0}) {
    kept_[{provider, answer->key, account}] = {answer->keyring, deps_.clock.Now() + answer->keep};
  }
  for (const auto& search : waiting)
    search->OnAnswer(provider, answer.ok() ? answer->keyring : Keyring());
}

void CredentialProviders::ReportFailed(const Question& question, const Status& why) const {
  deps_.log.Warn("a credential provider plugin failed, pulling without its credentials",
                 {KV("plugin", providers_[question.provider].name),
                  KV("repository", question.repository), KV("err", why)});
}

}  // namespace splitlet::pod_worker
