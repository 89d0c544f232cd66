"""What is generated from the shipped models, by the program's own command."""
import subprocess

import yaml
from implementations import HOLDFAST
from server import ROOT

MODELS = ("pm", "pos", "trip")


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def model_file(model):
    return ROOT / "models" / f"{model}.yaml"


def types(model, language, *flags):
    return run(HOLDFAST, "model", "types", model_file(model), "--language", language, *flags)


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
