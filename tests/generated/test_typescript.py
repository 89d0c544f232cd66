"""The generated TypeScript passes the strict compiler and, compiled, its own tests on both databases."""
import os
import pathlib

import pytest
from generation import MODELS, run, types
from server import ROOT

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """A directory with the generated files and their tests, all compiled."""
    if not (HERE / "node_modules" / "typescript").is_dir():
        run("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent", cwd=HERE)
    project = tmp_path_factory.mktemp("typescript")
    (project / "node_modules").symlink_to(HERE / "node_modules")
    (project / "package.json").write_text('{"type": "module"}')
    for model in MODELS:
        (project / f"{model}.ts").write_text(types(model, "ts", "--repositories"))
        (project / f"{model}_types.ts").write_text(types(model, "ts"))
    (project / "repositories.test.ts").write_text((HERE / "repositories.test.ts").read_text())
    run(
        project / "node_modules" / ".bin" / "tsc", "--strict", "--noUncheckedIndexedAccess", "--noUnusedLocals",
        "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "--types", "node",
        *project.glob("*.ts"), cwd=project,
    )  # fmt: skip
    return project


def test_repositories(project, endpoint):
    node = run("bash", "-c", ". scripts/packages.sh && node_command", cwd=ROOT).strip()
    run(node, "--test", "repositories.test.js", cwd=project, env={**os.environ, "ENDPOINT": endpoint})
