// What is made from a model for others to read: types, repositories, a page, a CloudFormation template, a
// JSON Schema.
//
//   std::cout << model::generate::TypeScriptTypes(*model);
//
// All are pure: the same model gives the same text. None fails, since a model that was loaded is sound.
#pragma once

#include <string>

#include "model/model.h"

namespace holdfast::model::generate {

// One type per entity and embedded schema. What a type does not name is kept: TypeScript and Python types are
// views of the items that the SDKs give, a C++ struct has a member `rest`.
std::string TypeScriptTypes(const Model& model);
std::string PythonTypes(const Model& model);
// A header that needs holdfast's public ones, everything in namespace `model.name`.
std::string CppTypes(const Model& model);

// The types and, over the plain SDK (DocumentClient, boto3), one class per entity that finds, creates and
// updates with the model's keys, defaults, computed values and state machines. The files need holdfast
// neither to build nor to run.
std::string TypeScriptRepositories(const Model& model);
std::string PythonRepositories(const Model& model);

// A page in Markdown: tables, keys, entities, patterns, state machines.
std::string ModelPage(const Model& model);
// All tables as one CloudFormation template in YAML.
std::string CloudFormationTemplate(const Model& model);
// JSON Schema (2020-12) of the entities' items as plain JSON; `$defs` has one schema per entity and embedded
// schema.
std::string EntityJsonSchema(const Model& model);

}  // namespace holdfast::model::generate
