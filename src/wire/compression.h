// gzip and deflate for bodies, and which of them a client wants.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast::wire {

class HttpResponse;

enum class Coding : uint8_t { kNone, kGzip, kDeflate };

// What Accept-Encoding asks for, as DynamoDB reads it: the best quality wins, the first among equals, "*"
// stands for what is not named, identity is never preferred.
Coding ChooseCoding(std::string_view accept_encoding);

// The same for an answer with that body: small ones go as they are, as on the live service.
Coding CodingFor(std::string_view accept_encoding, std::string_view body);
// What Content-Encoding says of a body; nothing for one that we do not know.
std::optional<Coding> CodingNamed(std::string_view content_encoding);

std::string Compress(Coding coding, std::string_view body);
// And says so in the headers. Does nothing for kNone.
void CompressBody(Coding coding, HttpResponse* response);

// Errors: kIo for bytes that are not the coding they claim to be or that end early, kLimitExceeded when the
// result would be larger than `bytes_max`.
Result<std::string> Decompress(Coding coding, std::string_view body, size_t bytes_max);

uint32_t Crc32(std::string_view bytes);

}  // namespace holdfast::wire
