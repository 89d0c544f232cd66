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
Result<LogSurvey> SurveyLog(const Archive& archive, uint64_t first) {
  LogSurvey survey;
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
    auto ends = ReadSegmentEnds(archive, number);
    if (!ends) {
      if (ends.error().code() != ErrorCode::kCorruption) return ends.error();
      survey.faults.push_back(ends.error().message());
      before = {};
      before.after = UINT64_MAX;  // nothing goes on from here
      continue;
    }
    if (ends->empty) {  // its beginning was cut short; the next one goes on in its place
      if (goes_on) survey.runs.back().last = number;
      continue;
    }
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

// The files that a store made from `checkpoint` may need besides those of the checkpoint.
Result<std::vector<ArchivedFile>> AddedAfter(const ArchivedCheckpoint& checkpoint, const Survey& survey) {
  std::vector<ArchivedFile> files;
  // From the newest back to the first that is known to be older: so are all before it.
  for (auto added = survey.additions.rbegin(); added != survey.additions.rend(); ++added) {
    if (!*added) return added->error();
    if ((*added)->time_millis < checkpoint.time_millis) break;
    files.insert(files.begin(), (*added)->files.begin(), (*added)->files.end());
  }
  return files;
}

Result<Survey> Look(const Archive& archive) {
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
  HF_TRY(survey.log, SurveyLog(archive, survey.checkpoints.empty() ? 0 : survey.checkpoints[0].segment));
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

// The checkpoint to begin with, and the end of its run of segments.
struct Plan {
  const ArchivedCheckpoint* checkpoint = nullptr;
  uint64_t last_segment = 0;
  int64_t before_millis = kNewest;
};

Result<Plan> MakePlan(const Archive& archive, const Survey& survey, int64_t at_second) {
  Plan plan;
  const std::vector<std::string>& faults = survey.log.faults;
  bool newest = at_second == kNewest;
  bool reaches_end = false;
  if (!newest) plan.before_millis = (at_second + 1) * 1000;
  for (const ArchivedCheckpoint& checkpoint : survey.checkpoints) {
    Coverage covers = CoverageOf(checkpoint, survey.log);
    bool serves =
        newest || (checkpoint.time_millis < plan.before_millis && covers.to_millis >= at_second * 1000);
    if (!serves) continue;
    const LogRun* run = RunOf(survey.log, checkpoint.segment);
    plan.checkpoint = &checkpoint;
    plan.last_segment = run == nullptr ? 0 : run->last;
    // A checkpoint may be newer than all of the log.
    reaches_end = survey.log.newest <= plan.last_segment || survey.log.newest < checkpoint.segment;
  }
  if (plan.checkpoint != nullptr && (reaches_end || !newest)) return plan;
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

Result<ArchiveSurvey> SurveyArchive(const Archive& archive) {
  ArchiveSurvey result;
  HF_TRY(result.identity, archive.Identity());
  HF_TRY(Survey survey, Look(archive));
  result.checkpoints = std::move(survey.checkpoints);
  for (ArchivedCheckpoint& checkpoint : result.checkpoints) checkpoint.files.clear();
  result.covered = std::move(survey.covered);
  result.faults = std::move(survey.log.faults);
  return result;
}

Result<Restored> RestoreFiles(const Archive& archive, int64_t at_second, const StorePlace& target,
                              const base::Log& log, const std::function<void(const std::string&)>& tell) {
  HF_TRY([[maybe_unused]] std::string identity, archive.Identity());
  HF_TRY(Survey survey, Look(archive));
  HF_TRY(Plan plan, MakePlan(archive, survey, at_second));
  const ArchivedCheckpoint& checkpoint = *plan.checkpoint;

  std::map<std::string, ArchivedFile> files;
  for (const ArchivedFile& file : checkpoint.files) files[file.path] = file;
  HF_TRY(std::vector<ArchivedFile> added, AddedAfter(checkpoint, survey));
  for (ArchivedFile& file : added) files[file.path] = std::move(file);
  tell("copying " + std::to_string(files.size()) + " files of the checkpoint of " +
       SecondText(checkpoint.time_millis));
  std::set<std::string> directories;  // of the store, in which a name is new
  for (const auto& [path, file] : files) {
    if (!StaysInside(path))
      return Error(ErrorCode::kCorruption, archive.directory() + " names a file outside of a store: " + path);
    HF_CHECK_OK(MakeDirectories(target, path));
    // Through the new store's file system: it is encrypted when the store is.
    HF_CHECK_OK(archive.Fetch(file, target.file_system.get(), target.directory + "/" + path));
    for (size_t slash = path.rfind('/'); slash != std::string::npos && slash != 0;
         slash = path.rfind('/', slash - 1))
      directories.insert(path.substr(0, slash));
  }
  // RocksDB syncs the names in its own directory only.
  for (const std::string& directory : directories)
    HF_CHECK_OK(SyncDirectory(target.file_system.get(), target.directory + "/" + directory));

  Restored restored{files.size(), 0, checkpoint.time_millis};
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
  HF_CHECK_OK(kv->Sync());
  if (plan.before_millis != kNewest) restored.as_of_millis = plan.before_millis - 1;
  return restored;
}

}  // namespace holdfast::storage
