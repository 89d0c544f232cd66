// `holdfast apply`, `holdfast export-template`: tables from CloudFormation and SAM templates, and templates
// from tables.
#pragma once

#include "cli/command.h"

namespace holdfast::cli {

void AddTemplateCommands(CLI::App* app, Run* run);

}  // namespace holdfast::cli
