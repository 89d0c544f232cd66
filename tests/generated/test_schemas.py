"""Both JSON Schemas: of the format of model files, which editors use, and of the items of a model."""
import copy
import json

import pytest
import yaml
from generation import MODELS, model_file, run
from implementations import HOLDFAST
from jsonschema import Draft202012Validator
from server import ROOT


@pytest.fixture(scope="module")
def of_models():
    schema = json.loads((ROOT / "models" / "model.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def of_items(model, entity):
    schema = json.loads(run(HOLDFAST, "model", "schema", model_file(model)))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator({"$ref": f"#/$defs/{entity}", "$defs": schema["$defs"]})


def wrong(validator, value):
    return [error.json_path for error in validator.iter_errors(value)]


@pytest.mark.parametrize("model", MODELS)
def test_the_shipped_models_have_the_format(of_models, model):
    assert wrong(of_models, yaml.safe_load(model_file(model).read_text())) == []


# An editor is of use when it marks what the loader would refuse.
@pytest.mark.parametrize(
    "path, value",
    [
        (["entities", "Project", "atributes"], {}),
        (["entities", "Project", "attributes", "name"], "text!"),
        (["entities", "Project", "flags"], ["append-only"]),
        (["tables", "main", "key"], {"PK": "string"}),
        (["patterns", "PM-A-04", "order"], "down"),
        (["machines", "PM-S-01", "moves"], ["active"]),
        (["commands", "project.create", "writes"], []),
        (["commands", "project.update", "read", "project", "optionl"], True),
        (["commands", "project.update", "write"], [{"patch": "project", "put": "Project"}]),
        (["commands", "project.update", "refuse"], [{"when": "project.status = 'archived'"}]),
        (["commands", "agentConfig.seedDefaults", "write"], []),
        (["functions", "EVT", "write"], [{"use": "EVT", "wth": {}}]),
        (["roles", "agent", "tenant"], "all"),
        (["version"], "one"),
    ],
)
def test_mistakes_are_marked(of_models, path, value):
    model = yaml.safe_load(model_file("pm").read_text())
    place = model
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    assert wrong(of_models, model) != []


PROJECT = {
    "id": "5f0c2b1e-2f6b-4d43-9c39-6d3a7f3f3a11",
    "name": "Tide clock",
    "status": "active",
    "source": "jira",
    "sourceProjectKey": "TIDE",
    "autonomyLevel": "artefact",
    "config": {},
    "createdAt": "2026-02-04T10:30:00.000Z",
    "updatedAt": "2026-02-04T10:30:00.000Z",
}


def test_an_items_schema_knows_required_attributes_types_and_choices():
    schema = of_items("pm", "Project")
    assert wrong(schema, PROJECT) == []
    assert wrong(schema, {**PROJECT, "status": "asleep"}) == ["$.status"]
    assert wrong(schema, {**PROJECT, "config": "none"}) == ["$.config"]
    assert wrong(schema, {name: value for name, value in PROJECT.items() if name != "source"}) == ["$"]
    assert wrong(schema, {**PROJECT, "PK": "PROJECT#1"}) == [], "keys and what is unknown pass"


# Which schema the content has is said by the attribute `type`.
def test_a_schema_is_chosen_by_another_attribute():
    schema = of_items("pm", "Artefact")
    artefact = {
        "id": PROJECT["id"],
        "projectId": PROJECT["id"],
        "type": "decision_log",
        "content": {"decisions": []},
        "version": 1,
        "createdAt": PROJECT["createdAt"],
        "updatedAt": PROJECT["updatedAt"],
    }
    assert wrong(schema, artefact) == []
    other = copy.deepcopy(artefact)
    other["type"] = "raid_log"
    assert wrong(schema, other) == ["$.content"]
