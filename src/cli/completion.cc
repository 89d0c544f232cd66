#include "cli/completion.h"

#include "cli/run.h"
#include "model/generate/text.h"

namespace holdfast::cli {
namespace {

using model::generate::Cat;
using model::generate::Lines;

// What can follow a path of commands such as "/model/check".
struct Words {
  std::string path;
  std::vector<std::pair<std::string, std::string>> commands;  // with their descriptions
  std::vector<std::pair<std::string, std::string>> flags;

  std::string All() const {
    std::string all;
    for (const auto* list : {&commands, &flags}) {
      for (const auto& [word, description] : *list) all += (all.empty() ? "" : " ") + word;
    }
    return all;
  }
};

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

void Collect(const CLI::App& app, const std::string& path, std::vector<Words>* all) {
  Words words{.path = path};
  for (const CLI::App* command : Commands(app))
    words.commands.emplace_back(command->get_name(), command->get_description());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      words.flags.emplace_back("--" + name, option->get_description());
  }
  all->push_back(std::move(words));
  for (const CLI::App* command : Commands(app)) Collect(*command, Cat(path, "/", command->get_name()), all);
}

// bash and zsh share their language: follow the words to the command, then offer its words. Models, their
// commands and inputs are known to the program alone.
// `words` names the array of words on the line, `last` counts those before the one to complete.
void AddCases(const std::vector<Words>& all, std::string_view words_name, std::string_view last,
              std::string_view program, Lines* lines) {
  lines->Add("local at= offered= word");  // zsh has its own use for `path`
  lines->Open(Cat("for word in \"${", words_name, "[@]:1:", last, "-1}\"; do"));
  lines->Open("case $at/$word in");
  std::string paths;
  for (const Words& words : all) {
    if (!words.path.empty()) paths += (paths.empty() ? "" : "|") + words.path;
  }
  lines->Add(Cat(paths, ") at=$at/$word ;;"));
  lines->Close("esac").Close("done");
  lines->Open("case $at in");
  for (const Words& words : all)
    lines->Add(Cat(words.path.empty() ? "''" : words.path, ") offered='", words.All(), "' ;;"));
  lines->Close("esac");
  lines->Add(Cat("[ \"$at\" != /run ] || offered=\"$offered $(", program, " ", kCompleteRun, " \"${",
                 words_name, "[@]:2:", last, "-2}\" 2>/dev/null)\""));
}

std::string Bash(const std::vector<Words>& all) {
  Lines lines;
  lines.Add("# Completion for bash: source <(holdfast completion bash)");
  lines.Open("_holdfast() {");
  AddCases(all, "COMP_WORDS", "COMP_CWORD", "\"${COMP_WORDS[0]}\"", &lines);
  lines.Add("COMPREPLY=($(compgen -W \"$offered\" -- \"${COMP_WORDS[COMP_CWORD]}\"))");
  lines.Add("[[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null");
  lines.Close("}").Add("complete -o default -F _holdfast holdfast");
  return lines.Take();
}

std::string Zsh(const std::vector<Words>& all) {
  Lines lines;
  lines.Add("#compdef holdfast").Add("# Completion for zsh: source <(holdfast completion zsh)");
  lines.Open("_holdfast() {");
  AddCases(all, "words", "CURRENT-1", "\"${words[1]}\"", &lines);
  lines.Add("compadd -- ${=offered}").Add("_files");
  lines.Close("}").Add("compdef _holdfast holdfast");
  return lines.Take();
}

// In fish's single quotes only the quote and the backslash mean something.
std::string FishQuoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  return quoted + "'";
}

std::string Fish(const std::vector<Words>& all) {
  Lines lines;
  lines.Add("# Completion for fish: holdfast completion fish | source");
  lines.Open("function __holdfast_at").Add("set -l path ''");
  lines.Open("for word in (commandline -opc)[2..]").Open("switch $path/$word");
  std::string paths;
  for (const Words& words : all) paths += words.path.empty() ? "" : Cat(" ", words.path);
  lines.Add(Cat("case", paths)).Add("  set path $path/$word");
  lines.Close("end").Close("end").Add("test \"$path\" = \"$argv[1]\"").Close("end");
  for (const Words& words : all) {
    auto add = [&](const std::string& how, const std::string& description) {
      lines.Add(Cat("complete -c holdfast -n \"__holdfast_at '", words.path, "'\" ", how, " -d ",
                    FishQuoted(description)));
    };
    for (const auto& [name, description] : words.commands) add("-f -a " + name, description);
    for (const auto& [name, description] : words.flags) add("-l " + name.substr(2), description);
  }
  lines.Add(Cat("complete -c holdfast -n \"__holdfast_at /run\" -f -a \"(holdfast ", kCompleteRun,
                " (commandline -opc)[3..] 2>/dev/null)\""));
  return lines.Take();
}

struct CompletionConfig {
  const CLI::App* program = nullptr;
  std::string shell;
  bool json = false;
};

Result<int> Completion(const CompletionConfig& config) {
  std::vector<Words> all;
  Collect(*config.program, "", &all);
  std::string text = config.shell == "bash" ? Bash(all) : config.shell == "zsh" ? Zsh(all) : Fish(all);
  return PrintText(text, config.json);
}

}  // namespace

void AddCompletionCommand(CLI::App* app, Run* run) {
  auto [completion, config] =
      AddCommand(app, "completion", "Print what makes a shell complete these commands", run, &Completion);
  config->program = app;
  completion->add_option("shell", config->shell, "bash, zsh or fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->required();
}

}  // namespace holdfast::cli
