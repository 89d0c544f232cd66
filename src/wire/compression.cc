#include "wire/compression.h"

#include <libdeflate.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/check.h"
#include "wire/exchange.h"
#include "wire/http_parser.h"

namespace holdfast::wire {
namespace {

constexpr int kLevel = 6;
constexpr size_t kCompressFrom = 4096;

using Compressor = std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)>;
using Decompressor = std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)>;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The part before `separator`, taken off the front of `*text`.
std::string_view TakeUntil(std::string_view* text, char separator) {
  size_t end = text->find(separator);
  std::string_view part = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return part;
}

// A quality value; what is no number counts as 1, as the live service has it.
double ParseQuality(std::string_view text) {
  text = Trim(text);
  bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  double value = 0, scale = 1;
  bool point = false;
  if (text.empty()) return 1;
  for (char c : text) {
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      value = value * 10 + (c - '0');
      if (point) scale *= 10;
      if (scale > 1e12 || value > 1e12) break;
    } else {
      return 1;
    }
  }
  return negative ? 0 : std::min(1.0, value / scale);
}

struct Preference {
  std::string_view name;
  double quality;
};

std::vector<Preference> ParsePreferences(std::string_view header) {
  std::vector<Preference> preferences;
  while (!header.empty()) {
    std::string_view entry = TakeUntil(&header, ',');
    std::string_view name = Trim(TakeUntil(&entry, ';'));
    double quality = 1;
    // Only the first parameter is looked at, and only its value.
    if (!entry.empty()) {
      std::string_view parameter = TakeUntil(&entry, ';');
      std::string_view parameter_name = TakeUntil(&parameter, '=');
      if (!parameter_name.empty() && parameter_name.back() != ' ') quality = ParseQuality(parameter);
    }
    if (!name.empty()) preferences.push_back({name, quality});
  }
  return preferences;
}

}  // namespace

Coding ChooseCoding(std::string_view accept_encoding) {
  struct Candidate {
    std::string_view name;
    Coding coding;
    double quality = -1;  // not named
    size_t position = 0;
  };
  Candidate candidates[] = {{"gzip", Coding::kGzip}, {"deflate", Coding::kDeflate}};
  double others = -1;
  size_t others_position = 0;
  std::vector<Preference> preferences = ParsePreferences(accept_encoding);
  for (size_t i = 0; i < preferences.size(); ++i) {
    for (Candidate& candidate : candidates) {
      if (EqualsIgnoringCase(preferences[i].name, candidate.name) &&
          preferences[i].quality > candidate.quality) {
        candidate.quality = preferences[i].quality;
        candidate.position = i;
      }
    }
    if (preferences[i].name == "*" && others < 0) others = preferences[i].quality, others_position = i;
  }
  // What is named goes before what "*" brings in at the same quality.
  for (Candidate& candidate : candidates) {
    if (candidate.quality < 0 && others >= 0) {
      candidate.quality = others;
      candidate.position = preferences.size() + others_position;
    }
  }
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.quality <= 0) continue;
    if (best == nullptr || candidate.quality > best->quality ||
        (candidate.quality == best->quality && candidate.position < best->position)) {
      best = &candidate;
    }
  }
  return best == nullptr ? Coding::kNone : best->coding;
}

Coding CodingFor(std::string_view accept_encoding, std::string_view body) {
  return body.size() > kCompressFrom ? ChooseCoding(accept_encoding) : Coding::kNone;
}

std::optional<Coding> CodingNamed(std::string_view content_encoding) {
  if (content_encoding.empty() || EqualsIgnoringCase(content_encoding, "identity")) return Coding::kNone;
  if (EqualsIgnoringCase(content_encoding, "gzip")) return Coding::kGzip;
  if (EqualsIgnoringCase(content_encoding, "deflate")) return Coding::kDeflate;
  return std::nullopt;
}

std::string Compress(Coding coding, std::string_view body) {
  thread_local Compressor compressor(libdeflate_alloc_compressor(kLevel), &libdeflate_free_compressor);
  HF_ASSERT(compressor != nullptr && coding != Coding::kNone);
  bool gzip = coding == Coding::kGzip;
  std::string compressed;
  compressed.resize(gzip ? libdeflate_gzip_compress_bound(compressor.get(), body.size())
                         : libdeflate_zlib_compress_bound(compressor.get(), body.size()));
  size_t size = (gzip ? libdeflate_gzip_compress : libdeflate_zlib_compress)(
      compressor.get(), body.data(), body.size(), compressed.data(), compressed.size());
  HF_ASSERT(size > 0);
  compressed.resize(size);
  compressed.shrink_to_fit();  // it may wait for a slow client
  return compressed;
}

void CompressBody(Coding coding, HttpResponse* response) {
  if (coding == Coding::kNone) return;
  response->body = Compress(coding, response->body);
  response->AddHeader("Content-Encoding", coding == Coding::kGzip ? "gzip" : "deflate");
}

Result<std::string> Decompress(Coding coding, std::string_view body, size_t bytes_max) {
  Decompressor decompressor(libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  HF_ASSERT(decompressor != nullptr);
  auto inflate = coding == Coding::kGzip ? libdeflate_gzip_decompress_ex : libdeflate_zlib_decompress_ex;
  // A gzip body may be several members, one after the other. All go into one buffer that only grows: what a
  // member costs depends on its own bytes.
  std::string whole;
  size_t size = 0;  // of what has been inflated
  whole.resize(std::min(bytes_max, std::max<size_t>(body.size() * 4, 4096)));
  while (true) {
    size_t used = 0, written = 0;
    libdeflate_result result = inflate(decompressor.get(), body.data(), body.size(), whole.data() + size,
                                       whole.size() - size, &used, &written);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
      if (whole.size() == bytes_max) {
        return Error(ErrorCode::kLimitExceeded, "the body is too large once decompressed");
      }
      whole.resize(std::min(bytes_max, whole.size() * 4));
      continue;
    }
    if (result != LIBDEFLATE_SUCCESS) {
      return Error(ErrorCode::kIo, "the body is not what its Content-Encoding says");
    }
    size += written;
    body.remove_prefix(used);
    if (body.empty()) break;
    if (coding != Coding::kGzip) return Error(ErrorCode::kIo, "bytes follow the compressed body");
  }
  whole.resize(size);
  return whole;
}

uint32_t Crc32(std::string_view bytes) {
  return libdeflate_crc32(0, bytes.data(), bytes.size());
}

}  // namespace holdfast::wire
