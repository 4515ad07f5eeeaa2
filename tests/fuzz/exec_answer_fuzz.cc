// A fuzz target over a runtime's answer to ExecSync. Any answer that a full parser accepts gives
// the same result, and no more of an answer is kept than requested.

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>

#include "libs/cri/exec_answer.h"
#include "runtime/v1/api.pb.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace splitlet;       // NOLINT(google-build-using-namespace): one function
  using namespace splitlet::cri;  // NOLINT(google-build-using-namespace): one function
  const int length = static_cast<int>(size);
  runtime::v1::ExecSyncResponse whole;
  const bool parses = whole.ParseFromArray(data, length);
  for (const bool last : {false, true}) {
    const OutputLimit keep{.bytes = 4, .last = last};
    google::protobuf::io::ArrayInputStream stream(data, length, 5);
    const auto read = ReadExecAnswer(stream, keep);
    if (read.ok()) CHECK(read->out.size() <= keep.bytes && read->err.size() <= keep.bytes);
    if (!parses || !whole.GetReflection()->GetUnknownFields(whole).empty()) continue;
    CHECK(read.ok(), "{}", ToString(read.status()));
    ExecResult want{whole.exit_code(), whole.stdout(), whole.stderr()};
    keep.Cut(want.out);
    keep.Cut(want.err);
    CHECK(read->exit_code == want.exit_code && read->out == want.out && read->err == want.err);
  }
  return parses ? 0 : -1;
}

FuzzCorpus MakeFuzzCorpus() {
  google::protobuf::SetLogHandler(nullptr);  // otherwise it logs each input
  FuzzCorpus corpus;
  for (const int code : {0, 1, -1}) {
    runtime::v1::ExecSyncResponse response;
    response.set_stdout("0123456789");
    response.set_stderr("no");
    response.set_exit_code(code);
    corpus.inputs.push_back(response.SerializeAsString());
  }
  corpus.tokens = {"\x0a", "\x12", "\x18", "\xff\xff\xff\xff\x07", "\x80", std::string(1, '\0')};
  return corpus;
}
