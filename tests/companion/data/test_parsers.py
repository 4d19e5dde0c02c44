"""Whatever a parser is given, it returns what was written or says in one line what is wrong."""

import keyword

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_cityscapes import SIZE, write_mtan, write_official

from pamal_companion.data import census, cityscapes
from pamal_companion.data.samples import people
from pamal_companion.runs import grid
from pamal_companion.runs.options import Options, as_tuple, parse_value
from pamal_companion.runs.records import NUMBERS, Record
from pamal_core.errors import InputError

QUICK = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
IDENTIFIERS = st.from_regex(
    r"[A-Za-z_]\w{0,8}", fullmatch=True, alphabet=st.characters(codec="ascii")
)
NAMES = IDENTIFIERS.filter(lambda word: not keyword.iskeyword(word))
SIMPLE = st.one_of(
    st.booleans(), st.none(), st.integers(-(10**6), 10**6), st.floats(allow_nan=False), NAMES
)
# What is read back as something else than text.
WORDS = {"true", "false", "none", "nan", "inf", "infinity"}


def damaged(content, data):
    """`content` cut off, or with some of its bytes replaced."""
    if data.draw(st.booleans()):
        return content[: data.draw(st.integers(0, len(content) - 1))]
    changed = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    return bytes(changed)


def one_line(read, *arguments):
    """The result, or None after an InputError of one line; any other exception fails the test."""
    try:
        return read(*arguments)
    except InputError as error:
        assert str(error).strip() and "\n" not in str(error).strip()
        return None


LINES = people.texts(census.COLUMNS)[0].splitlines(keepends=True)[:20]


@QUICK
@given(which=st.lists(st.integers(0, len(LINES) - 1), min_size=1))
def test_census_lines_are_read_one_by_one(which):
    whole = census.parse(b"".join(LINES[i] for i in which))
    alone = [census.parse(LINES[i]).astype(str).to_numpy().tolist() for i in which]
    assert whole.astype(str).to_numpy().tolist() == [row for rows in alone for row in rows]


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """A scene of each layout, and what reads it."""
    official, mtan = (tmp_path_factory.mktemp(name) for name in ("official", "mtan"))
    write_official(official)
    write_mtan(mtan, official)
    return [
        (cityscapes.find(folder).train[0], cityscapes.find(folder).read, SIZE)
        for folder in (official, mtan)
    ]


@QUICK
@given(data=st.data(), layout=st.integers(0, 1), part=st.integers(0, 2))
def test_a_damaged_scene_is_refused_or_has_the_values_of_one(scenes, data, layout, part):
    scene, read, size = scenes[layout]
    path = scene[part]
    whole = path.read_bytes()
    try:
        path.write_bytes(damaged(whole, data))
        maps = one_line(read, scene, size)
    finally:
        path.write_bytes(whole)
    if maps is not None:
        image, label, depth = maps
        assert (image.shape, label.shape, depth.shape) == ((3, *size), size, (1, *size))
        assert set(np.unique(label)) <= {*range(-1, 7)} and (depth >= 0).all()


@pytest.mark.parametrize("first", [b"\0", b"(", b"\n 0\n1", b"'"])
def test_an_array_whose_header_is_no_python_is_refused(scenes, first):
    """numpy tokenises such a header and lets the tokeniser's own errors through."""
    scene, read, size = scenes[1]
    whole = scene.image.read_bytes()
    try:
        scene.image.write_bytes(whole[:10] + first + whole[10 + len(first) :])
        with pytest.raises(InputError, match="could not be read"):
            read(scene, size)
    finally:
        scene.image.write_bytes(whole)


@QUICK
@given(value=SIMPLE)
def test_a_value_is_read_back_from_its_text(value):
    if not (isinstance(value, str) and value.lower() in WORDS):
        found = parse_value(str(value))
        assert found == value and type(found) is type(value)


@QUICK
@given(chosen=st.dictionaries(NAMES, SIMPLE, max_size=5))
def test_the_options_of_the_grid_are_read_back_from_their_text(chosen):
    chosen = {k: v for k, v in chosen.items() if not isinstance(v, str) or v.lower() not in WORDS}
    text = "; ".join(f"{name}={value}" for name, value in chosen.items())
    assert grid.parameters(text) == chosen


@QUICK
@given(values=st.lists(st.integers(), min_size=1, max_size=6))
def test_a_text_with_commas_is_the_list_of_its_parts(values):
    assert as_tuple(", ".join(map(str, values))) == tuple(values) == as_tuple(values)


ANYTHING = st.one_of(SIMPLE, st.text(max_size=8), st.lists(SIMPLE, max_size=3), st.floats())


@QUICK
@given(values=st.dictionaries(st.sampled_from([*Options.model_fields, "nobody"]), ANYTHING))
def test_any_parameters_make_options_or_an_error_of_one_line(values):
    options = one_line(lambda: Options.create(**values))
    assert options is None or "nobody" not in values


@QUICK
@given(values=st.dictionaries(NAMES, st.integers(0, 9), max_size=4))
@example(values={"In": 0})
def test_what_a_parameters_cell_assigns_is_what_is_checked(values):
    source = "# Parameters\n" + "\n".join(f"{name} = {value}" for name, value in values.items())
    namespace = {"In": ["", source, "other = 1"], "other": 1, **values}
    unknown = values.keys() - Options.model_fields.keys()
    found = one_line(Options.from_notebook, namespace)
    assert found is None or (not unknown and found.model_fields_set <= values.keys())
    assert not unknown or found is None


@QUICK
@given(
    options=st.dictionaries(
        NAMES.filter(lambda name: name not in NUMBERS),
        st.one_of(st.integers(-9, 9), st.text(max_size=5)),
    ),
    losses=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4),
    seed=st.integers(0, 2**31),
)
def test_a_record_is_read_as_it_was_written(tmp_path, options, losses, seed):
    one = Record(
        experiment="mine",
        method="pamal",
        options=options,
        seed=seed,
        data="d",
        objectives={"a/loss": "min"},
        points=[{"alpha": [1.0], "split": "test", "metrics": {"a/loss": x}} for x in losses],
        summary={},
        history=[{"losses": losses}],
        cost={"train_seconds": None},
        versions={},
    )
    one.write(tmp_path / "r.json")
    assert Record.read(tmp_path / "r.json") == one
