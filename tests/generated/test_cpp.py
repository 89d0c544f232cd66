"""The generated C++ compiles without warnings against the library's public headers, and loses nothing."""
import pathlib

from generation import MODELS, run, types
from server import ROOT

BUILD = ROOT / "build" / "release"


def test_items_survive_the_way_through_a_struct(tmp_path):
    for model in MODELS:
        (tmp_path / f"{model}.h").write_text(types(model, "cpp"))
    run(
        "c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers",
        "-I", ROOT / "include", "-I", tmp_path,
        pathlib.Path(__file__).with_name("round_trip.cc"), "-o", tmp_path / "round_trip",
        "-L", BUILD, "-lholdfast", f"-Wl,-rpath,{BUILD}",
    )  # fmt: skip
    run(tmp_path / "round_trip")
