#pragma once

/// Every flag of a kubelet of Kubernetes 1.36, and its effect here. A test holds
/// docs/kubelet-flags.md to this table.
/// Threads: constants.
/// Source: kubelet --help.

#include <span>
#include <string_view>

namespace splitlet::kubelet {

enum class FlagFate {
  kHere,     // the launcher itself uses the flag, like --config
  kPassed,   // passed to the processes, which have a flag for it
  kField,    // sets a field of the KubeletConfiguration
  kNothing,  // accepted, with a warning that the flag has no effect
};

/// Syntax of the value.
enum class FlagValue {
  kBool,  // --flag, --flag=true, --flag=false; the value is never a separate word
  kInt,
  kFloat,
  kText,
  kPath,        // a path in a flag of the processes; a relative path counts from the working
                // directory
  kList,        // "a,b"; may be repeated
  kMap,         // "a=b,c=d"; may be repeated
  kBoolMap,     // "A=true,B=false", added to those of the file
  kThresholds,  // "memory.available<100Mi,..."
  kHeaders,     // "a:b,c:d"
  kTaints,      // "key=value:Effect,..."
  kMemory,      // "0:memory=1Gi,hugepages-2Mi=64Mi"; may be repeated
  kPatterns,    // "file=2,..."
};

struct FlagRow {
  std::string_view name;  // without leading dashes
  FlagFate fate;
  FlagValue value;
  std::string_view target =
      {};  // the field, the flag of the processes, or the effect and its reason
};

/// In the order of the alphabet.
std::span<const FlagRow> FlagRows();
/// "_" counts as "-". nullptr: a kubelet has no such flag.
const FlagRow* FindFlag(std::string_view name);

}  // namespace splitlet::kubelet
