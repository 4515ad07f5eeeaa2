#include "services/pod-worker/runtime_config/dns.h"

#include <algorithm>
#include <sstream>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr size_t kMaxServers = 3;
constexpr size_t kMaxSearches = 32, kClusterSearches = 3;
constexpr size_t kMaxSearchLine = 2048;
constexpr size_t kMaxSearchPath = 253;

void AddOnce(const std::string& value, std::vector<std::string>& list) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

std::string OptionName(const std::string& option) { return option.substr(0, option.find(':')); }

/// A later option replaces an earlier one of the same name, in its position.
void SetOption(const std::string& option, std::vector<std::string>& options) {
  for (std::string& known : options) {
    if (OptionName(known) != OptionName(option)) continue;
    known = option;
    return;
  }
  options.push_back(option);
}

/// "timeout:" counts as "timeout".
/// Source: kubelet mergeDNSOptions.
void DropEmptyValues(std::vector<std::string>& options) {
  for (std::string& option : options)
    if (option.ends_with(':') && option.find(':') + 1 == option.size()) option.pop_back();
}

Dns ClusterDns(const kube::Pod& pod, const NodeInfo& node, const Dns& host) {
  Dns dns{.servers = node.cluster_dns, .options = {"ndots:5"}};
  if (!node.cluster_domain.empty()) {
    const std::string& domain = node.cluster_domain;
    AddOnce(fmt::format("{}.svc.{}", pod.metadata().namespace_(), domain), dns.searches);
    AddOnce("svc." + domain, dns.searches);
    AddOnce(domain, dns.searches);
  }
  for (const std::string& search : host.searches) AddOnce(search, dns.searches);
  return dns;
}

bool WantsCluster(const kube::Pod& pod) {
  const std::string& policy = pod.spec().dns_policy();
  if (policy == "ClusterFirstWithHostNet") return true;
  if (policy == "Default" || policy == "None") return false;
  return !pod.spec().host_network();
}

Dns PolicyDns(const kube::Pod& pod, const NodeInfo& node, const Dns& host, PodDns& out) {
  if (pod.spec().dns_policy() == "None") return {};
  if (!WantsCluster(pod)) return host;
  if (!node.cluster_dns.empty()) return ClusterDns(pod, node, host);
  out.warnings.push_back(
      {"MissingClusterDNS",
       fmt::format("pod: \"{}\". kubelet does not have ClusterDNS IP configured and cannot create "
                   "Pod using "
                   "\"ClusterFirst\" policy. Falling back to \"Default\" policy.",
                   pod.metadata().name() + "_" + pod.metadata().namespace_() + "(" +
                       pod.metadata().uid() + ")")});
  return host;
}

std::string SearchLine(const Dns& dns) { return fmt::format("{}", fmt::join(dns.searches, " ")); }

void CutToLimits(PodDns& out) {
  Dns& dns = out.dns;
  if (dns.servers.size() > kMaxServers) {
    dns.servers.resize(kMaxServers);
    out.warnings.push_back(
        {"DNSConfigForming",
         fmt::format("Nameserver limits were exceeded, some nameservers have been omitted, the "
                     "applied nameserver line is: {}",
                     fmt::join(dns.servers, " "))});
  }
  const size_t before = dns.searches.size();
  if (dns.searches.size() > kMaxSearches) dns.searches.resize(kMaxSearches);
  std::erase_if(dns.searches,
                [](const std::string& search) { return search.size() > kMaxSearchPath; });
  while (SearchLine(dns).size() > kMaxSearchLine) dns.searches.pop_back();
  if (dns.searches.size() == before) return;
  out.warnings.push_back(
      {"DNSConfigForming",
       fmt::format("Search Line limits were exceeded, some search paths have been omitted, the "
                   "applied search line is: {}",
                   SearchLine(dns))});
}

}  // namespace

StatusOr<Dns> ParseResolverFile(const std::string& text) {
  Dns dns;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string keyword, word;
    words >> keyword;
    if (keyword == "nameserver") {
      if (!(words >> word)) return InvalidArgument("nameserver list is empty");
      dns.servers.push_back(word);
    } else if (keyword == "search") {
      dns.searches.clear();
      while (words >> word) {
        if (word != "." && word.ends_with('.')) word.pop_back();
        if (word != ".") dns.searches.push_back(word);
      }
    } else if (keyword == "options") {
      while (words >> word) SetOption(word, dns.options);
    }
  }
  return dns;
}

std::string ResolverFileExcess(const std::string& path, const Dns& file, bool cluster_domain) {
  const size_t most = kMaxSearches - (cluster_domain ? kClusterSearches : 0);
  if (file.searches.size() > most)
    return fmt::format(
        "Resolv.conf file '{}' contains search line consisting of more than {} domains!", path,
        most);
  for (const std::string& search : file.searches)
    if (search.size() > kMaxSearchPath)
      return fmt::format(
          "Resolv.conf file \"{}\" contains a search path which length is more than allowed {} "
          "chars!",
          path, kMaxSearchPath);
  if (SearchLine(file).size() > kMaxSearchLine)
    return fmt::format(
        "Resolv.conf file '{}' contains search line which length is more than allowed {} chars!",
        path, kMaxSearchLine);
  return "";
}

PodDns MakeDns(const kube::Pod& pod, const NodeInfo& node, const Dns& host) {
  PodDns out;
  out.dns = PolicyDns(pod, node, host, out);
  const auto& wishes = pod.spec().dns_config();
  for (const std::string& server : wishes.nameservers()) AddOnce(server, out.dns.servers);
  for (const std::string& search : wishes.searches()) AddOnce(search, out.dns.searches);
  for (const auto& option : wishes.options())
    SetOption(option.has_value() ? option.name() + ":" + option.value() : option.name(),
              out.dns.options);
  if (pod.spec().has_dns_config()) DropEmptyValues(out.dns.options);
  CutToLimits(out);
  return out;
}

}  // namespace splitlet::pod_worker
