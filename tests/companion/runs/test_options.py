from pamal_companion.runs.options import Options


def test_numbers_that_papermill_reads_as_integers_are_taken():
    options = Options.create(lam=5, p=2, W=3)
    assert (options.lam, options.p) == (5.0, 2.0)


def test_a_window_of_one_is_fine_for_methods_without_a_penalty():
    assert Options.create(method="ls", W=1, lam=5.0).method == "ls"


def test_a_notebook_hands_over_what_its_parameter_cells_assigned():
    cells = ["", "# Parameters\nW = 4\nseed = 1", "# Parameters\nW = 2", "result = 5"]
    options = Options.from_notebook({"In": cells, "W": 2, "seed": 1, "result": 5, "lam": 7})
    assert (options.W, options.seed, options.lam) == (2, 1, 0.0)


def test_none_is_the_default_which_may_be_the_methods_own():
    for values in ({}, {"p": None, "lam": None}):
        assert Options.create(**values).p == 1.0
        assert Options.create(method="phn", **values).p == 0.2
        cosmos = Options.create(method="cosmos", **values)
        assert (cosmos.p, cosmos.lam) == (1.2, 2.0)
    assert Options.create(method="phn", p=0.5).p == 0.5
    assert Options.create(W=None, seed=None) == Options.create()
    assert "p" in Options.create(method="phn").model_dump(exclude_defaults=True)
