#pragma once

/// Grammars of Kubernetes names: each function returns the problem, "" for a valid text.
/// Threads: any; nothing fails.
/// Source: Kubernetes API conventions; docs/behaviour/manifests.md, "Validation".

#include <string>
#include <string_view>

namespace splitlet::kube {

/// At most 63 of a-z, 0-9 and '-'.
std::string CheckDnsLabel(std::string_view text);
/// DNS labels separated by dots, at most 253 characters.
std::string CheckDnsSubdomain(std::string_view text);
/// A subdomain whose labels may contain underscores, like "_tcp.example.org".
std::string CheckDnsSearch(std::string_view text);
/// "app" or "example.com/app": keys of labels and annotations.
std::string CheckQualifiedName(std::string_view text);
/// Empty, or at most 63 characters of letters, digits, '-', '_' and '.'.
std::string CheckLabelValue(std::string_view text);
/// At most 15 of a-z, 0-9 and '-', at least one of them a letter.
std::string CheckPortName(std::string_view text);
/// Printable ASCII without '='.
std::string CheckEnvName(std::string_view text);
std::string CheckHttpHeaderName(std::string_view text);
/// At most 64 letters, digits and '-', because a UID names directories and files on this node.
std::string CheckUid(std::string_view text);
/// True for "/a/../b": the path contains "..".
bool HasParentStep(std::string_view path);
/// A literal IPv4 or IPv6 address.
bool IsIp(const std::string& text);

}  // namespace splitlet::kube
