#include "libs/cri/exec_answer.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>

namespace splitlet::cri {
namespace {

using google::protobuf::io::CodedInputStream;

/// The start of a field: its number and wire type.
enum WireTag : uint32_t { kStdout = 1 << 3 | 2, kStderr = 2 << 3 | 2, kExitCode = 3 << 3 };

bool ReadOutput(CodedInputStream& in, const OutputLimit& keep, std::string& output) {
  int length = 0;
  if (!in.ReadVarintSizeAsInt(&length)) return false;
  const auto kept = static_cast<int>(std::min(static_cast<size_t>(length), keep.bytes));
  const int cut = length - kept;
  if (keep.last && !in.Skip(cut)) return false;
  return in.ReadString(&output, kept) && (keep.last || in.Skip(cut));
}

bool ReadExitCode(CodedInputStream& in, int32_t& code) {
  uint64_t value = 0;
  if (!in.ReadVarint64(&value)) return false;
  code = static_cast<int32_t>(static_cast<uint32_t>(value));
  return true;
}

/// Later versions of CRI may add fields.
bool SkipOther(CodedInputStream& in, uint32_t tag) {
  uint64_t value = 0;
  int length = 0;
  switch (tag & 7) {
    case 0: return in.ReadVarint64(&value);
    case 1: return in.Skip(8);
    case 2: return in.ReadVarintSizeAsInt(&length) && in.Skip(length);
    case 5: return in.Skip(4);
    default: return false;
  }
}

bool ReadOne(CodedInputStream& in, uint32_t tag, const OutputLimit& keep, ExecResult& result) {
  if (tag == kStdout) return ReadOutput(in, keep, result.out);
  if (tag == kStderr) return ReadOutput(in, keep, result.err);
  if (tag == kExitCode) return ReadExitCode(in, result.exit_code);
  return SkipOther(in, tag);
}

}  // namespace

StatusOr<ExecResult> ReadExecAnswer(google::protobuf::io::ZeroCopyInputStream& message,
                                    const OutputLimit& keep) {
  CodedInputStream in(&message);
  ExecResult result;
  while (const uint32_t tag = in.ReadTag())
    if (!ReadOne(in, tag, keep, result)) return Internal("the answer to ExecSync is truncated");
  if (!in.ConsumedEntireMessage()) return Internal("the answer to ExecSync is malformed");
  return result;
}

}  // namespace splitlet::cri
