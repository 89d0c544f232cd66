"""What is generated from the shipped models, by the program's own command."""
import functools
import pathlib
import subprocess

import yaml
from implementations import HOLDFAST
from server import ROOT

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ("pm", "pos", "trip")


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def model_file(model):
    return ROOT / "models" / f"{model}.yaml"


def types(model, language, *flags):
    return run(HOLDFAST, "model", "types", model_file(model), "--language", language, *flags)


@functools.lru_cache
def node():
    return run("bash", "-c", ". scripts/packages.sh && node_command", cwd=ROOT).strip()


@functools.lru_cache
def install_packages():
    if subprocess.run(["npm", "ls"], cwd=HERE, capture_output=True).returncode != 0:
        run("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent", cwd=HERE)


def typescript_project(directory):
    install_packages()
    (directory / "node_modules").symlink_to(HERE / "node_modules")
    (directory / "package.json").write_text('{"type": "module"}')
    return directory


def compile_typescript(project, *flags):
    run(
        project / "node_modules" / ".bin" / "tsc", "--strict", "--noUncheckedIndexedAccess", "--target", "es2022",
        "--module", "nodenext", "--skipLibCheck", *flags, *project.glob("*.ts"), cwd=project,
    )  # fmt: skip


class Template(yaml.SafeLoader):
    """CloudFormation's YAML, whose references are of no interest here."""


Template.add_multi_constructor("!", lambda loader, tag, node: f"{tag} {node.value}")


def tables(model):
    """The parameters of CreateTable for each table of the model's template, vectors left out: DynamoDB Local has none."""
    template = yaml.load(run(HOLDFAST, "model", "template", model_file(model)), Template)
    for resource in template["Resources"].values():
        properties = resource["Properties"]
        wanted = ("TableName", "BillingMode", "KeySchema", "GlobalSecondaryIndexes")
        request = {name: properties[name] for name in wanted if name in properties}
        schemas = [request["KeySchema"], *(index["KeySchema"] for index in request.get("GlobalSecondaryIndexes", []))]
        keys = {element["AttributeName"] for schema in schemas for element in schema}
        definitions = [one for one in properties["AttributeDefinitions"] if one["AttributeName"] in keys]
        yield {**request, "AttributeDefinitions": definitions}
