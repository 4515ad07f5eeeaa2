#pragma once

/// Every flag of a kubelet of Kubernetes 1.36, and what becomes of it here. A test holds
/// docs/kubelet-flags.md to this table.
/// Threads: constants.
/// Source: kubelet --help.

#include <span>
#include <string_view>

namespace splitlet::kubelet {

enum class FlagFate {
  kHere,     // the launcher itself uses it: --config and the like
  kPassed,   // passed on to the processes, which have a flag for it
  kField,    // sets a field of the KubeletConfiguration
  kNothing,  // accepted, with a warning that it does nothing
};

/// How the value is written.
enum class FlagValue {
  kBool,  // --flag, --flag=true, --flag=false; never a word of its own
  kInt,
  kFloat,
  kText,
  kPath,        // of the processes; a relative one counts from the working directory
  kList,        // "a,b", and again
  kMap,         // "a=b,c=d", and again
  kBoolMap,     // "A=true,B=false", added to those of the file
  kThresholds,  // "memory.available<100Mi,..."
  kHeaders,     // "a:b,c:d"
  kTaints,      // "key=value:Effect,..."
  kMemory,      // "0:memory=1Gi,hugepages-2Mi=64Mi", and again
  kPatterns,    // "file=2,..."
};

struct FlagRow {
  std::string_view name;  // without dashes in front
  FlagFate fate;
  FlagValue value;
  std::string_view target =
      {};  // the field, the flag of the processes, or else what it does and why
};

/// In the order of the alphabet.
std::span<const FlagRow> FlagRows();
/// "_" counts as "-". nullptr: a kubelet has no such flag.
const FlagRow* FindFlag(std::string_view name);

}  // namespace splitlet::kubelet
