#include "storage/archive/restore.h"

#include <algorithm>
#include <ctime>
#include <set>

#include "storage/archive/archive_log.h"
#include "storage/rocksdb/rocksdb_kv.h"

namespace holdfast::storage {
namespace {

// Segments that go on from one another.
struct LogRun {
  uint64_t first = 0;
  uint64_t last = 0;
  int64_t to_millis = 0;
};

struct LogSurvey {
  std::vector<LogRun> runs;
  uint64_t newest = 0;  // segment, readable or not
  std::vector<std::string> faults;
};

// The segments from `first` on are needed; 0: none are.
Result<LogSurvey> SurveyLog(const Archive& archive, uint64_t first, Depth depth) {
  LogSurvey survey;
  auto head = archive.ReadHead();
  if (!head && head.error().code() != ErrorCode::kCorruption) return head.error();
  if (!head) survey.faults.push_back(head.error().message());
  uint64_t newest = 0;  // of which at least the beginning is there
  HF_TRY(std::vector<uint64_t> numbers, archive.Numbers("log"));
  if (!numbers.empty()) survey.newest = numbers.back();
  SegmentEnds before;
  uint64_t expected = first;
  if (!numbers.empty() && (first == 0 || numbers.front() < first)) expected = numbers.front();
  if (numbers.empty() && first != 0)
    survey.faults.push_back("the log segment " + archive.PathOf("log", first) + " is missing");
  for (uint64_t number : numbers) {
    bool goes_on = !survey.runs.empty() && number == expected;
    for (; expected < number; ++expected)
      survey.faults.push_back("the log segment " + archive.PathOf("log", expected) + " is missing");
    expected = number + 1;
    auto ends = depth == Depth::kSize ? ReadSegmentEnds(archive, number) : ReadSegment(archive, number, {});
    if (!ends) {
      if (ends.error().code() != ErrorCode::kCorruption) return ends.error();
      survey.faults.push_back(ends.error().message());
      before = {};
      before.after = UINT64_MAX;  // nothing goes on from here
      newest = number;
      continue;
    }
    if (ends->empty) {  // its beginning was cut short; the next one goes on in its place
      if (goes_on) survey.runs.back().last = number;
      continue;
    }
    newest = number;
    if (goes_on && !ends->begins && (ends->after > before.last || ends->after < before.after)) {
      goes_on = false;
      if (before.after != UINT64_MAX) {
        survey.faults.push_back("the log segment " + archive.PathOf("log", number - 1) +
                                " is damaged: it ends before " + archive.PathOf("log", number) + " begins");
      }
    }
    if (!goes_on || ends->begins) survey.runs.push_back({number, number, 0});
    survey.runs.back().last = number;
    survey.runs.back().to_millis = ends->time_millis;
    before = *ends;
  }
  // A crash cuts off the beginning of a segment only before HEAD names it.
  if (head && newest < *head) {
    bool there = std::binary_search(numbers.begin(), numbers.end(), *head);
    survey.faults.push_back("the log segment " + archive.PathOf("log", *head) +
                            (there ? " is damaged" : " is missing"));
    survey.newest = UINT64_MAX;  // no run reaches it
  }
  return survey;
}

const LogRun* RunOf(const LogSurvey& log, uint64_t segment) {
  for (const LogRun& run : log.runs) {
    if (run.first <= segment && segment <= run.last) return &run;
  }
  return nullptr;
}

Coverage CoverageOf(const ArchivedCheckpoint& checkpoint, const LogSurvey& log) {
  const LogRun* run = RunOf(log, checkpoint.segment);
  int64_t to = run == nullptr ? checkpoint.time_millis : std::max(run->to_millis, checkpoint.time_millis);
  return {checkpoint.time_millis, to};
}

struct Survey {
  LogSurvey log;
  std::vector<ArchivedCheckpoint> checkpoints;
  std::vector<Result<ArchivedAdditions>> additions;  // oldest first; what is damaged or missing, as an error
  std::vector<Coverage> covered;
};

Status LookAtAdditions(const Archive& archive, std::vector<Result<ArchivedAdditions>>* additions) {
  HF_TRY(std::vector<uint64_t> numbers, archive.Numbers("additions"));
  for (size_t i = 0; i < numbers.size(); ++i) {
    for (uint64_t missing = i == 0 ? numbers[i] : numbers[i - 1] + 1; missing < numbers[i]; ++missing) {
      additions->emplace_back(
          Error(ErrorCode::kCorruption, "the list " + archive.PathOf("additions", missing) + " is missing"));
    }
    additions->push_back(archive.ReadAdditions(numbers[i]));
    const Result<ArchivedAdditions>& read = additions->back();
    if (!read && read.error().code() != ErrorCode::kCorruption) return read.error();
  }
  return Ok{};
}

// Adds the files that a store made from the plan's checkpoint may need besides those of the checkpoint.
void AddAdded(const Survey& survey, RestorePlan* plan) {
  // From the newest back to the first that is known to be older: so are all before it.
  for (auto added = survey.additions.rbegin(); added != survey.additions.rend(); ++added) {
    if (!*added) {
      plan->lost_list = added->error();
      continue;
    }
    if ((*added)->time_millis < plan->checkpoint.time_millis) break;
    plan->added.insert(plan->added.begin(), (*added)->files.begin(), (*added)->files.end());
  }
}

// Looks at what the lists name. Whatever a server deletes meanwhile, it deletes the list of it first.
Status LookAtFiles(const Archive& archive, const Survey& survey, Depth depth,
                   std::vector<std::string>* faults) {
  std::set<std::string> seen;
  auto look = [&](const std::vector<ArchivedFile>& files, const std::string& list) -> Status {
    for (const ArchivedFile& file : files) {
      if (!seen.insert(file.object).second) continue;
      Status found = archive.Check(file, depth);
      if (found) continue;
      if (found.error().code() != ErrorCode::kCorruption) return found;
      if (!archive.file_system()->FileExists(list, {}, nullptr).ok()) break;
      faults->push_back(found.error().message());
    }
    return Ok{};
  };
  for (const ArchivedCheckpoint& checkpoint : survey.checkpoints)
    HF_CHECK_OK(look(checkpoint.files, archive.PathOf("checkpoints", checkpoint.number)));
  for (const Result<ArchivedAdditions>& added : survey.additions) {
    if (added) HF_CHECK_OK(look(added->files, archive.PathOf("additions", added->number)));
  }
  return Ok{};
}

Result<Survey> Look(const Archive& archive, Depth depth) {
  Survey survey;
  std::vector<std::string> faults;
  HF_TRY(std::vector<uint64_t> numbers, archive.Numbers("checkpoints"));
  for (uint64_t number : numbers) {
    auto checkpoint = archive.ReadCheckpoint(number);
    if (checkpoint) {
      survey.checkpoints.push_back(*std::move(checkpoint));
    } else if (checkpoint.error().code() == ErrorCode::kCorruption) {
      faults.push_back(checkpoint.error().message());
    } else {
      return checkpoint.error();
    }
  }
  HF_TRY(survey.log,
         SurveyLog(archive, survey.checkpoints.empty() ? 0 : survey.checkpoints[0].segment, depth));
  HF_CHECK_OK(LookAtAdditions(archive, &survey.additions));
  for (const Result<ArchivedAdditions>& added : survey.additions) {
    if (!added) faults.push_back(added.error().message());
  }
  survey.log.faults.insert(survey.log.faults.end(), faults.begin(), faults.end());
  for (const ArchivedCheckpoint& checkpoint : survey.checkpoints) {
    Coverage covers = CoverageOf(checkpoint, survey.log);
    if (!survey.covered.empty() && covers.from_millis <= survey.covered.back().to_millis)
      survey.covered.back().to_millis = std::max(survey.covered.back().to_millis, covers.to_millis);
    else
      survey.covered.push_back(covers);
  }
  return survey;
}

std::string FaultsText(const std::vector<std::string>& faults) {
  std::string text;
  for (const std::string& fault : faults) text += (text.empty() ? "" : "; ") + fault;
  return text;
}

Status MakeDirectories(const StorePlace& target, const std::string& path) {
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    std::string directory = target.directory + "/" + path.substr(0, slash);
    rocksdb::IOStatus made = target.file_system->CreateDirIfMissing(directory, {}, nullptr);
    if (!made.ok()) return IoError(directory, made);
  }
  return Ok{};
}

// A name in an archive must not lead out of the store.
bool StaysInside(const std::string& path) {
  return !path.empty() && path[0] != '/' && ("/" + path + "/").find("/../") == std::string::npos;
}

}  // namespace

std::string SecondText(int64_t millis) {
  std::time_t second = millis / 1000;
  std::tm parts{};
  ::gmtime_r(&second, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string CoverageText(const std::vector<Coverage>& covered) {
  std::string text;
  for (const Coverage& one : covered) {
    if (!text.empty()) text += ", and ";
    text += SecondText(one.from_millis) + " to " + SecondText(one.to_millis);
  }
  return text;
}

Result<ArchiveSurvey> SurveyArchive(const Archive& archive, Depth depth) {
  ArchiveSurvey result;
  HF_TRY(result.identity, archive.Identity());
  HF_TRY(Survey survey, Look(archive, depth));
  HF_CHECK_OK(LookAtFiles(archive, survey, depth, &survey.log.faults));
  result.checkpoints = std::move(survey.checkpoints);
  for (ArchivedCheckpoint& checkpoint : result.checkpoints) checkpoint.files.clear();
  result.covered = std::move(survey.covered);
  result.faults = std::move(survey.log.faults);
  return result;
}

Result<RestorePlan> PlanRestore(const Archive& archive, int64_t at_second) {
  HF_TRY([[maybe_unused]] std::string identity, archive.Identity());
  HF_TRY(Survey survey, Look(archive, Depth::kSize));
  RestorePlan plan;
  const std::vector<std::string>& faults = survey.log.faults;
  bool newest = at_second == kNewest;
  bool reaches_end = false;
  const ArchivedCheckpoint* from = nullptr;
  if (!newest) plan.before_millis = (at_second + 1) * 1000;
  for (const ArchivedCheckpoint& checkpoint : survey.checkpoints) {
    Coverage covers = CoverageOf(checkpoint, survey.log);
    bool serves =
        newest || (checkpoint.time_millis < plan.before_millis && covers.to_millis >= at_second * 1000);
    if (!serves) continue;
    const LogRun* run = RunOf(survey.log, checkpoint.segment);
    from = &checkpoint;
    plan.last_segment = run == nullptr ? 0 : run->last;
    // A checkpoint may be newer than all of the log.
    reaches_end = survey.log.newest <= plan.last_segment || survey.log.newest < checkpoint.segment;
  }
  if (from != nullptr && (reaches_end || !newest)) {
    plan.checkpoint = *from;
    AddAdded(survey, &plan);
    return plan;
  }
  std::string covers =
      survey.covered.empty() ? "it covers nothing yet" : "it covers " + CoverageText(survey.covered);
  if (!faults.empty())
    return Error(ErrorCode::kCorruption, archive.directory() + ": " + FaultsText(faults) + "; " + covers +
                                             ", and --at restores a second of that");
  if (newest)
    return ValidationError(archive.directory() + " lacks a checkpoint for its newest log; " + covers);
  return ValidationError(archive.directory() + " does not cover " + SecondText(at_second * 1000) + "; " +
                         covers);
}

Result<Restored> RestoreFiles(const Archive& archive, const RestorePlan& plan, const StorePlace& target,
                              const base::Log& log, const std::function<void(const std::string&)>& tell,
                              const Settle& settle) {
  const ArchivedCheckpoint& checkpoint = plan.checkpoint;
  std::map<std::string, ArchivedFile> files;
  for (const ArchivedFile& file : checkpoint.files) files[file.path] = file;
  for (const ArchivedFile& file : plan.added) files[file.path] = file;
  tell("copying " + std::to_string(files.size()) + " files of the checkpoint of " +
       SecondText(checkpoint.time_millis));
  Lacking lacking{{}, plan.lost_list};
  std::set<std::string> directories;  // of the store, in which a name is new
  for (const auto& [path, file] : files) {
    if (!StaysInside(path))
      return Error(ErrorCode::kCorruption, archive.directory() + " names a file outside of a store: " + path);
    HF_CHECK_OK(MakeDirectories(target, path));
    // Through the new store's file system: it is encrypted when the store is.
    std::string copy = target.directory + "/" + path;
    Status fetched = archive.Fetch(file, target.file_system.get(), copy);
    if (!fetched) {
      bool beside = path.find('/') != std::string::npos;
      if (!beside || fetched.error().code() != ErrorCode::kCorruption) return fetched.error();
      lacking.files.emplace(path, fetched.error());
      target.file_system->DeleteFile(copy, {}, nullptr).PermitUncheckedError();  // if there is one
    }
    for (size_t slash = path.rfind('/'); slash != std::string::npos && slash != 0;
         slash = path.rfind('/', slash - 1))
      directories.insert(path.substr(0, slash));
  }
  // RocksDB syncs the names in its own directory only.
  for (const std::string& directory : directories)
    HF_CHECK_OK(SyncDirectory(target.file_system.get(), target.directory + "/" + directory));

  Restored restored{files.size() - lacking.files.size(), 0, checkpoint.time_millis};
  RocksDbOptions options;
  options.directory = target.directory;
  options.must_exist = true;
  options.write_buffer_bytes = 64 << 20;
  options.file_system = target.file_system;
  HF_TRY(std::unique_ptr<Kv> kv, OpenRocksDbKv(options, log));
  bool more = true;
  for (uint64_t segment = checkpoint.segment; segment != 0 && more && segment <= plan.last_segment;
       ++segment) {
    if (segment > checkpoint.segment) tell("replaying the log after " + SecondText(restored.as_of_millis));
    auto replay = [&](const Frame& frame) -> Result<bool> {
      if (!frame.records.empty() && frame.last > checkpoint.sequence) {
        HF_TRY(more, kv->Replay(frame.records, plan.before_millis));
        restored.records += frame.records.size();
      }
      if (more) restored.as_of_millis = std::max(restored.as_of_millis, frame.time_millis);
      return more;
    };
    auto read = ReadSegment(archive, segment, replay);
    if (!read) return read.error();
  }
  HF_CHECK_OK(settle(kv.get(), lacking));
  HF_CHECK_OK(kv->Sync());
  if (plan.before_millis != kNewest) restored.as_of_millis = plan.before_millis - 1;
  return restored;
}

}  // namespace holdfast::storage
