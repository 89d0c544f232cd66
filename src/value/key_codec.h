// Order-preserving encoding of key attributes, and where a partition lies.
//
// A field is the payload of a key value (UTF-8 bytes, raw bytes, or an encoded number) with each 0x00 written
// as 0x00 0xff, closed by 0x00 0x01. So fields can follow one another, memcmp orders them field by field, and
// a prefix of a field without its close bounds a begins_with. docs/format.md says how fields make up storage
// keys.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace holdfast::value {

// The field up to but without its close.
void AppendKeyPrefix(ByteView payload, std::string* out);
void AppendKeyField(ByteView payload, std::string* out);

// Takes one field off the front of `*bytes` and appends its payload. Returns false on malformed bytes.
bool ReadKeyField(ByteView* bytes, std::string* payload);

// The smallest byte string greater than every string that starts with `prefix`; empty when there is none.
std::string PrefixSuccessor(ByteView prefix);

// DynamoDB's placement, as far as anyone has observed it: the first 16 bits of MD5("Outliers" ‖ key payload).
// It decides the order of a Scan and which segment of a parallel scan an item falls into.
// Stored on disk in every storage key: never change.
uint16_t PartitionHash(ByteView payload);

}  // namespace holdfast::value
