#include "services/status/identity/rotation.h"

#include <algorithm>

namespace splitlet::status {
namespace {

constexpr double kEarliest = 0.7;
constexpr double kSpread = 0.2;

bool Has(const std::vector<std::string>& all, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(
      wanted, [&all](const std::string& one) { return std::ranges::find(all, one) != all.end(); });
}

}  // namespace

WallTime RotationTime(const x509::Certificate& certificate, double unit) {
  const Duration validity = certificate.not_after - certificate.not_before;
  const double share = kEarliest + kSpread * unit;
  return certificate.not_before +
         Duration{static_cast<int64_t>(static_cast<double>(validity.count()) * share)};
}

bool IsExpired(const x509::Certificate& certificate, WallTime now) {
  return now >= certificate.not_after;
}

std::string WhyNeeded(const std::optional<x509::Certificate>& certificate,
                      const x509::Names& wanted, WallTime now) {
  if (!certificate) return "no certificate";
  if (IsExpired(*certificate, now)) return "certificate has expired";
  const x509::Names& names = certificate->names;
  if (names.common_name != wanted.common_name) return "certificate has another common name";
  if (!Has(names.organizations, wanted.organizations)) return "certificate lacks an organization";
  if (!Has(names.dns, wanted.dns)) return "certificate lacks a DNS name";
  if (!Has(names.addresses, wanted.addresses)) return "certificate lacks an address";
  return {};
}

}  // namespace splitlet::status
