"""The generated TypeScript passes the strict compiler and, compiled, its own tests on both databases."""
import os

import pytest
from generation import HERE, MODELS, compile_typescript, node, run, types, typescript_project


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """A directory with the generated files and their tests, all compiled."""
    project = typescript_project(tmp_path_factory.mktemp("typescript"))
    for model in MODELS:
        (project / f"{model}.ts").write_text(types(model, "ts", "--repositories"))
        (project / f"{model}_types.ts").write_text(types(model, "ts"))
    (project / "repositories.test.ts").write_text((HERE / "repositories.test.ts").read_text())
    compile_typescript(project, "--noUnusedLocals", "--types", "node")
    return project


def test_repositories(project, endpoint):
    run(node(), "--test", "repositories.test.js", cwd=project, env={**os.environ, "ENDPOINT": endpoint})
