#include "libs/kube/validate_resources.h"

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/huge_pages.h"
#include "libs/kube/names.h"
#include "libs/kube/resources.h"
#include "libs/kube/validation_parts.h"

namespace splitlet::kube {
namespace {

bool StartsWith(std::string_view text, std::string_view head) {
  return text.substr(0, head.size()) == head;
}

/// A name in Kubernetes' own domain, like kubernetes.io/batch-cpu.
bool IsPrefixedNative(std::string_view name) {
  return name.find("kubernetes.io/") != std::string_view::npos;
}

/// An extended resource: vendor/name outside of kubernetes.io.
bool IsExtended(std::string_view name) {
  return name.find('/') != std::string_view::npos && !IsPrefixedNative(name) &&
         !StartsWith(name, "requests.");
}

void CheckName(const std::string& name, const std::string& path, FieldErrors& errors) {
  const std::string problem = CheckQualifiedName(name);
  if (!problem.empty()) {
    errors.Invalid(path, name, problem);
  } else if (name.find('/') == std::string::npos && name != kCpu && name != kMemory &&
             name != kEphemeralStorage && !IsHugePages(name)) {
    errors.Invalid(path, name, "must be a standard resource for containers");
  } else if (name.find('/') != std::string::npos && !IsExtended(name) && !IsPrefixedNative(name)) {
    errors.Invalid(path, name, "must be a standard resource or of a vendor's own domain");
  }
}

/// The page size in the name of the resource: hugepages-2Mi.
Quantity PageSize(const std::string& name) {
  const auto size = Quantity::Parse(std::string_view(name).substr(kHugePagesPrefix.size()));
  return size.ok() ? *size : Quantity();
}

void CheckAmount(const std::string& name, const Quantity& amount, const std::string& path,
                 FieldErrors& errors) {
  if (amount.IsNegative())
    errors.Invalid(path, amount.ToString(), "must be greater than or equal to 0");
  if ((IsExtended(name) || IsHugePages(name)) && !amount.IsInteger())
    errors.Invalid(path, amount.ToString(), "must be an integer");
  if (!IsHugePages(name)) return;
  const Quantity page = PageSize(name);
  if (page <= Quantity()) {
    errors.Invalid(path, name, "must name a page size, as in hugepages-2Mi");
  } else if (!amount.IsMultipleOf(page)) {
    errors.Invalid(path, amount.ToString(), "must be a multiple of the page size");
  }
}

/// The amounts that parse; malformed ones are reported as errors.
template <class Map>
Resources CheckAmounts(const Map& amounts, const std::string& path, FieldErrors& errors) {
  Resources parsed;
  for (const auto& [name, text] : amounts) {
    const auto amount = Quantity::Parse(text.string());
    if (amount.ok()) {
      parsed[name] = *amount;
    } else {
      errors.Invalid(AtKey(path, name), text.string(), splitlet::Message(amount.status()));
    }
  }
  for (const auto& [name, amount] : parsed) {
    CheckName(name, AtKey(path, name), errors);
    CheckAmount(name, amount, AtKey(path, name), errors);
  }
  return parsed;
}

void CheckPairs(const Resources& requests, const Resources& limits, const std::string& path,
                FieldErrors& errors) {
  bool huge = false, others = false;
  for (const auto& [name, request] : requests) {
    const std::string at = AtKey(Field(path, "requests"), name);
    const auto limit = limits.find(name);
    const bool exact = IsExtended(name) || IsHugePages(name);
    huge |= IsHugePages(name);
    others |= name == kCpu || name == kMemory;
    if (limit == limits.end()) {
      if (exact)
        errors.Required(AtKey(Field(path, "limits"), name),
                        "Limit must be set for non overcommitable resources");
    } else if (exact && request != limit->second) {
      errors.Invalid(
          at, request.ToString(),
          fmt::format("must be equal to {} limit of {}", name, limit->second.ToString()));
    } else if (request > limit->second) {
      errors.Invalid(at, request.ToString(),
                     fmt::format("must be less than or equal to {} limit of {}", name,
                                 limit->second.ToString()));
    }
  }
  for (const auto& [name, limit] : limits) {
    huge |= IsHugePages(name);
    others |= name == kCpu || name == kMemory;
  }
  if (huge && !others) errors.Forbidden(path, "HugePages require cpu or memory");
}

/// Containers do not share huge pages, so the pod's pages must suffice for all containers that run
/// at the same time.
void CheckHugePages(const PodSpec& spec, const Resources& limits, FieldErrors& errors) {
  Pod as_limits;  // summing takes requests, so limits are put in their place
  for (const auto* from : {&spec.containers(), &spec.init_containers()}) {
    const bool regular = from == &spec.containers();
    for (const Container& container : *from) {
      auto& to = regular ? *as_limits.mutable_spec()->add_containers()
                         : *as_limits.mutable_spec()->add_init_containers();
      to.set_restart_policy(container.restart_policy());
      *to.mutable_resources()->mutable_requests() = container.resources().limits();
    }
  }
  const auto sum = ContainersRequests(as_limits);
  if (!sum.ok()) return;
  for (const auto& [name, limit] : limits)
    if (IsHugePages(name) && limit < Of(*sum, name))
      errors.Invalid(
          AtKey("spec.resources.limits", name), limit.ToString(),
          fmt::format("must be greater than or equal to aggregate container limits of {}",
                      Of(*sum, name).ToString()));
}

}  // namespace

void ValidateResources(const ResourceRequirements& resources, const ValidationContext& context,
                       const std::string& path, FieldErrors& errors) {
  const Resources limits = CheckAmounts(resources.limits(), Field(path, "limits"), errors);
  const Resources requests = CheckAmounts(resources.requests(), Field(path, "requests"), errors);
  CheckPairs(requests, limits, path, errors);
  std::set<std::pair<std::string, std::string>> used;
  for (int i = 0; i < resources.claims_size(); ++i) {
    const auto& claim = resources.claims(i);
    const std::string at = At(Field(path, "claims"), i);
    if (claim.name().empty()) {
      errors.Required(Field(at, "name"));
    } else if (!used.emplace(claim.name(), claim.request()).second) {
      errors.Duplicate(at, claim.name());
    } else if (context.claims.count(claim.name()) == 0) {
      errors.NotFound(at, claim.name());
    }
  }
}

void ValidatePodResources(const ValidationContext& context, FieldErrors& errors) {
  const PodSpec& spec = context.pod.spec();
  const std::string path = "spec.resources";
  CheckAmounts(spec.overhead(), "spec.overhead", errors);
  if (!spec.has_resources()) return;
  const auto& own = spec.resources();
  if (own.claims_size() > 0)
    errors.Forbidden(Field(path, "claims"), "claims may not be set for Resources at pod-level");
  const Resources limits = CheckAmounts(own.limits(), Field(path, "limits"), errors);
  const Resources requests = CheckAmounts(own.requests(), Field(path, "requests"), errors);
  CheckPairs(requests, limits, path, errors);
  for (const auto* part : {&limits, &requests})
    for (const auto& [name, amount] : *part)
      if (!IsPodLevelResource(name))
        errors.Unsupported(AtKey(Field(path, part == &limits ? "limits" : "requests"), name), name,
                           {"cpu", "memory", "hugepages-"});
  const auto sum = ContainersRequests(context.pod);
  for (const auto& [name, request] : requests)
    if (sum.ok() && request < Of(*sum, name))
      errors.Invalid(
          AtKey(Field(path, "requests"), name), request.ToString(),
          fmt::format("must be greater than or equal to aggregate container requests of {}",
                      Of(*sum, name).ToString()));
  CheckHugePages(spec, limits, errors);
  for (int i = 0; i < spec.containers_size(); ++i) {
    const auto container = LimitsOf(spec.containers(i).resources());
    if (!container.ok()) continue;
    for (const auto& [name, limit] : *container)
      if (const auto pod = limits.find(name); pod != limits.end() && limit > pod->second)
        errors.Invalid(AtKey(Field(At("spec.containers", i), "resources.limits"), name),
                       limit.ToString(),
                       fmt::format("must be less than or equal to {} limit of the pod, {}", name,
                                   pod->second.ToString()));
  }
}

}  // namespace splitlet::kube
