// A small model that has one of each thing that REST shows.
#pragma once

#include <string_view>

namespace holdfast::wire::testing {

inline constexpr std::string_view kShelf = R"yaml(
model: shelf
version: 3
title: A shelf
tenancy: {attribute: owner}
tables:
  main:
    name: Shelf-{stage}
    key: {pk: S, sk: S}
    type_attribute: kind
    indexes:
      byStatus: {key: {gpk: S, gsk: S}}
entities:
  Book:
    id: SH-E-01
    title: A book
    key: {pk: "OWNER#{owner}", sk: "BOOK#{id}"}
    indexes:
      byStatus: {gpk: "BOOK#{status}", gsk: "{id}"}
    version: version
    attributes:
      owner: S!
      id: S!
      title: S!
      pages: N?
      tags: SS?
      size: M?
      lent: BOOL?
      status: S! = shelved {shelved|lent|lost}
      version: N! = 1
  Note:
    key: {pk: "OWNER#{owner}", sk: "NOTE#{number}"}
    flags: [append_only]
    attributes: {owner: S!, number: S!, text: S!}
patterns:
  SH-A-01:
    title: Books by status
    returns: Book
    index: byStatus
    query: {gpk: "BOOK#{status}"}
  SH-A-02: {title: Put a book on the shelf, put: Book}
  SH-A-03: {title: One book, get: Book}
  SH-A-04:
    title: All of a shelf
    bundle: {books: SH-A-01, one: SH-A-03}
    params: {status: S!, id: S!}
machines:
  lending:
    entity: Book
    field: status
    initial: shelved
    moves: {shelved: [lent, lost], lent: [shelved]}
)yaml";

}  // namespace holdfast::wire::testing
