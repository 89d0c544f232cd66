// A small model that has one of each thing that is generated from, for the tests beside.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "model/generate/text.h"
#include "model/load.h"

namespace holdfast::model::generate {

inline constexpr std::string_view kSample = R"yaml(
model: shelf
version: 1
title: A shelf
tables:
  main:
    name: Shelf-{stage}
    key: {pk: S, sk: S}
    type_attribute: kind
    ttl: expires
    indexes:
      byStatus: {key: {gpk: S, gsk: S}}
    template: {region: eu-west-1, pitr: true, sse: true, tags: {Project: Shelf}}
entities:
  Book:
    id: SH-E-01
    title: A book
    key: {pk: "BOOK#{id}", sk: BOOK}
    indexes:
      byStatus: {gpk: "BOOK#{status}", gsk: "{createdAt}#{id}"}
    version: version
    attributes:
      id: uuid! = uuid()
      title: S!
      pages: {type: N, min: 1}
      mood: S? {grim|gay|…}
      status: S! = shelved {shelved|lent|lost}
      details: {type: M, schema: details}
      notes: {type: L, items: {type: M, fields: {text: S!, at: ts}}}
      version: N! = 1
      createdAt: {type: ts! = now(), immutable: true}
      updatedAt: {type: ts!, always: now()}
  BOOK_LOAN:
    key: {pk: "BOOK#{bookId}", sk: "LOAN#{lentAt}"}
    parent: {Book: {id: bookId}}
    flags: [append_only]
    attributes:
      bookId: {type: uuid!, stored: false}
      reader: S!
      lentAt: ts! = now()
      expires: {type: epoch!, always: lentAt + 365d}
  Inspection:
    key: {pk: INSPECTION, sk: "DAY#{day}"}
    flags: [command_only]
    attributes:
      day: date!
      found: NS?
schemas:
  details:
    fields:
      isbn: {type: S!, pattern: "[0-9-]+"}
      bound: BOOL! = false
patterns:
  book: {title: One book, get: Book}
  books-by-status:
    title: Books by status, oldest first
    returns: Book
    index: byStatus
    query: {gpk: "BOOK#{status}"}
  loans:
    title: Loans of a book in a time
    returns: BOOK_LOAN
    query: {pk: "BOOK#{bookId}", sk: "between LOAN#{from} and LOAN#{to}"}
    params: {from: ts, to: ts}
    order: descending
machines:
  lending:
    entity: Book
    field: status
    initial: shelved
    moves:
      shelved: [lent, lost]
      lent: [shelved]
)yaml";

inline std::shared_ptr<const Model> Load(std::string_view yaml) {
  auto loaded = LoadModel(yaml, "sample.yaml", {});
  EXPECT_TRUE(loaded) << loaded.error().message();
  return loaded ? *loaded : nullptr;
}

// The sample with one text in place of another that must be there.
inline std::shared_ptr<const Model> LoadSample(std::string_view from = {}, std::string_view to = {}) {
  if (from.empty()) return Load(kSample);
  EXPECT_NE(kSample.find(from), std::string_view::npos) << from;
  return Load(Replace(kSample, from, to));
}

}  // namespace holdfast::model::generate
