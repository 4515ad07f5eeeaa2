#pragma once

/// Grammars of Kubernetes names: each function returns what is wrong, "" for a valid text.
/// Threads: any; nothing fails.
/// Source: Kubernetes API conventions; docs/behaviour/manifests.md, "Validation".

#include <string>
#include <string_view>

namespace splitlet::kube {

/// a-z, 0-9 and '-', at most 63.
std::string CheckDnsLabel(std::string_view text);
/// DNS labels with dots between them, at most 253.
std::string CheckDnsSubdomain(std::string_view text);
/// A subdomain whose labels may also hold underscores, as "_tcp.example.org".
std::string CheckDnsSearch(std::string_view text);
/// "app" or "example.com/app": keys of labels and annotations.
std::string CheckQualifiedName(std::string_view text);
/// Empty, or at most 63 characters of letters, digits, '-', '_' and '.'.
std::string CheckLabelValue(std::string_view text);
/// At most 15 of a-z, 0-9 and '-', with a letter.
std::string CheckPortName(std::string_view text);
/// Printable ASCII without '='.
std::string CheckEnvName(std::string_view text);
std::string CheckHttpHeaderName(std::string_view text);
/// At most 64 letters, digits and '-': a UID names directories and files on this node.
std::string CheckUid(std::string_view text);
/// True for "/a/../b": the path contains "..".
bool HasParentStep(std::string_view path);
/// A literal IPv4 or IPv6 address.
bool IsIp(const std::string& text);

}  // namespace splitlet::kube
