"""The OpenAPI document: a validator takes it, and a client that is generated from it compiles and knows the types."""
import json
import re
import subprocess

import pytest
from generation import HERE, compile_typescript, node, run, typescript_project
from implementations import HOLDFAST


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = typescript_project(tmp_path_factory.mktemp("openapi"))
    (project / "openapi.json").write_text(run(HOLDFAST, "model", "openapi"))
    return project


def valid(project, name):
    validator = HERE / "node_modules" / "@seriousme" / "openapi-schema-validator" / "bin" / "validate-api-cli.js"
    done = subprocess.run([node(), validator, project / name], capture_output=True, text=True, timeout=60)
    return done.returncode == 0, done.stdout + done.stderr


def test_it_is_valid(project):
    fine, said = valid(project, "openapi.json")
    assert fine, said


# Otherwise the test above would say nothing.
def test_the_validator_sees_mistakes(project):
    document = json.loads((project / "openapi.json").read_text())
    document["paths"]["/v1/models"]["get"]["responses"]["200"].pop("description")
    (project / "broken.json").write_text(json.dumps(document))
    fine, _ = valid(project, "broken.json")
    assert not fine


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def test_names_are_unique_and_references_lead_somewhere(project):
    def no_twice(pairs):
        assert len({name for name, _ in pairs}) == len(pairs), [name for name, _ in pairs]
        return dict(pairs)

    document = json.loads((project / "openapi.json").read_text(), object_pairs_hook=no_twice)
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    ids = [operation["operationId"] for operation in operations]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[a-z][A-Za-z0-9]*", one) for one in ids)
    for reference in set(references(document)):
        place = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]


def test_a_generated_client_compiles(project):
    run(node(), project / "node_modules" / "openapi-typescript" / "bin" / "cli.js", "openapi.json", "-o", "api.ts", cwd=project)
    (project / "client.ts").write_text((HERE / "client.ts").read_text())
    compile_typescript(project, "--noEmit", "--lib", "es2022,dom")


def test_the_page_names_every_route(project):
    page = run(HOLDFAST, "model", "openapi", "--html")
    anchors = re.findall(r' id="([^"]+)"', page)
    assert len(set(anchors)) == len(anchors)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(anchors)
    document = json.loads((project / "openapi.json").read_text())
    ids = {operation["operationId"] for path in document["paths"].values() for operation in path.values()}
    assert ids <= set(anchors)
