#include "libs/operate/bus_text.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::operate {
namespace {

const WallTime kSentAt{std::chrono::sys_days{std::chrono::year{2026} / 11 / 21} +
                       std::chrono::hours{12}};

template <class R>
std::string TableMessage(const std::string& key, const R& record) {
  v1::Envelope envelope;
  envelope.set_producer("pleg");
  envelope.mutable_change()->set_key(key);
  envelope.mutable_change()->set_record(record.SerializeAsString());
  return envelope.SerializeAsString();
}

v1::RuntimeRecord RuntimeWith(v1::ContainerRecord::State state, int exit_code) {
  v1::RuntimeRecord record;
  record.mutable_pod()->set_name("web");
  record.mutable_pod()->set_namespace_("default");
  auto& container = *record.mutable_pod()->add_containers();
  container.set_id("c1");
  container.set_name("app");
  container.set_state(state);
  container.set_exit_code(exit_code);
  return record;
}

TEST(BusLines, SayWhatIsNew) {
  BusReader reader;
  const auto read = [&reader](const std::string& subject, const std::string& bytes) {
    return reader.Read({.at = kSentAt + 7ms, .subject = subject, .bytes = bytes});
  };
  EXPECT_EQ(EventLine(read("splitlet.ab.runtime",
                           TableMessage("u1", RuntimeWith(v1::ContainerRecord::RUNNING, 0)))),
            "12:00:00.007  pleg           runtime      default/web  app running\n");
  EXPECT_EQ(
      read("splitlet.ab.runtime", TableMessage("u1", RuntimeWith(v1::ContainerRecord::EXITED, 3)))
          .text,
      "app exited 3");
  EXPECT_EQ(read("splitlet.ab.runtime", TableMessage("u1", v1::RuntimeRecord())).text,
            "gone: app exited 3");
  EXPECT_EQ(EventLine(read("splitlet.ab.pleg.pod-changed", "u1")),
            "12:00:00.007  pleg           pod-changed  default/web  signal\n");
  v1::Envelope removal;
  removal.mutable_change()->set_key("u1");
  removal.mutable_change()->set_removal(true);
  EXPECT_EQ(read("splitlet.ab.runtime", removal.SerializeAsString()).text, "record removed");
  EXPECT_EQ(reader.PodsNamed("web").size(), 1U);
  EXPECT_EQ(reader.PodsNamed("default/web").size(), 1U);
  EXPECT_TRUE(reader.PodsNamed("eb").empty());
}

TEST(BusLines, StrangeMessagesAreNamed) {
  BusReader reader;
  EXPECT_EQ(reader.Read({.at = kSentAt, .subject = "foreign", .bytes = ""}).text,
            "not a subject of splitlet");
  EXPECT_EQ(
      reader.Read({.at = kSentAt, .subject = "splitlet.ab.runtime", .bytes = "\xFF\xFF"}).text,
      "cannot be decoded");
  v1::Envelope heartbeat;
  heartbeat.set_sequence(5);
  heartbeat.mutable_heartbeat()->add_complete("all");
  const BusEvent event = reader.Read(
      {.at = kSentAt, .subject = "splitlet.ab.workers", .bytes = heartbeat.SerializeAsString()});
  EXPECT_TRUE(event.heartbeat);
  EXPECT_EQ(event.process, "pod-worker") << "the owner, when the message does not say";
  EXPECT_EQ(event.text, "heartbeat, sequence 5, complete: all");
}

TEST(BusLines, AMeasurementThatChangesNothingIsASignOfLife) {
  BusReader reader;
  const auto read = [&reader](const std::vector<std::string>& conditions) {
    v1::PressureRecord record;
    for (const auto& condition : conditions) record.add_conditions(condition);
    v1::Envelope envelope;
    envelope.mutable_change()->set_key("node");
    envelope.mutable_change()->set_record(record.SerializeAsString());
    return reader.Read(
        {.at = kSentAt, .subject = "splitlet.ab.pressure", .bytes = envelope.SerializeAsString()});
  };
  EXPECT_TRUE(read({}).heartbeat);
  EXPECT_FALSE(read({"MemoryPressure"}).heartbeat);
  EXPECT_TRUE(read({"MemoryPressure"}).heartbeat);
  const BusEvent over = read({});
  EXPECT_FALSE(over.heartbeat);
  EXPECT_EQ(over.text, "no more MemoryPressure");
}

template <class R>
std::string Made(const std::function<void(R&)>& fill) {
  R record;
  fill(record);
  return record.SerializeAsString();
}

TEST(BusLines, EachTableHasItsWords) {
  using Desired = v1::DesiredRecord;
  using Admission = v1::AdmissionRecord;
  using Worker = v1::WorkerRecord;
  const auto desired = [](Desired::State state, int64_t generation, const std::string& problem) {
    return Made<Desired>([&](Desired& r) {
      r.set_state(state);
      r.set_source("file");
      r.set_generation(generation);
      r.set_problem(problem);
    });
  };
  const auto worker = [](v1::WorkerState state, const std::string& error) {
    return Made<Worker>([&](Worker& r) {
      r.set_state(state);
      r.set_sync_error(error);
    });
  };
  const struct {
    const char* name;
    const char* table;
    std::string before, after;
    const char* want;
  } kCases[] = {
      {"a new pod", "desired", "", desired(Desired::WANTED, 1, ""), "wanted by file"},
      {"a changed spec", "desired", desired(Desired::WANTED, 1, ""),
       desired(Desired::WANTED, 2, ""), "spec changed"},
      {"a broken manifest", "desired", desired(Desired::WANTED, 1, ""),
       desired(Desired::WANTED, 1, "web.yaml: bad"),
       "keeping the last good version: web.yaml: bad"},
      {"a removed pod", "desired", desired(Desired::WANTED, 1, ""),
       desired(Desired::REMOVED, 2, ""), "removed by file"},
      {"admitted", "admission", "",
       Made<Admission>([](Admission& r) { r.set_decision(Admission::ADMITTED); }), "admitted"},
      {"rejected", "admission", "", Made<Admission>([](Admission& r) {
         r.set_decision(Admission::REJECTED);
         r.set_reason("OutOfcpu");
         r.set_message("too little");
       }),
       "rejected: OutOfcpu: too little"},
      {"a worker begins", "workers", "", worker(v1::SYNCING, ""), "syncing"},
      {"a sync fails", "workers", worker(v1::SYNCING, ""), worker(v1::SYNCING, "no image"),
       "sync failed: no image"},
      {"a sync goes well again", "workers", worker(v1::SYNCING, "no image"),
       worker(v1::SYNCING, ""), "sync succeeded again"},
      {"a grant is refused", "workers", worker(v1::SYNCING, ""), Made<Worker>([](Worker& r) {
         r.set_state(v1::SYNCING);
         r.set_refusal("spec.volumes[0].name: Invalid value");
       }),
       "its grant is refused: spec.volumes[0].name: Invalid value"},
      {"a container waits", "workers", worker(v1::SYNCING, ""), Made<Worker>([](Worker& r) {
         r.set_state(v1::SYNCING);
         auto& note = *r.add_containers();
         note.set_name("app");
         note.set_reason("CrashLoopBackOff");
       }),
       "app waits: CrashLoopBackOff"},
      {"pressure", "pressure", "",
       Made<v1::PressureRecord>([](v1::PressureRecord& r) { r.add_conditions("DiskPressure"); }),
       "DiskPressure"},
      {"the node goes down", "pressure", "",
       Made<v1::PressureRecord>([](v1::PressureRecord& r) { r.set_shutting_down(true); }),
       "shuts down"},
      {"an unknown table", "other", "", "x", "updated"},
  };
  for (const auto& c : kCases)
    EXPECT_EQ(DescribeChange(c.table, c.before, c.after), c.want) << c.name;
}

}  // namespace
}  // namespace splitlet::operate
