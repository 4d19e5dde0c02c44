from pamal_companion.runs.options import Options


def test_a_window_of_one_is_fine_for_methods_without_a_penalty():
    assert Options.create(method="ls", W=1, lam=5.0).method == "ls"


def test_none_is_the_default_which_may_be_the_methods_own():
    for values in ({}, {"p": None, "lam": None}):
        assert Options.create(**values).p == 1.0
        assert Options.create(method="phn", **values).p == 0.2
        cosmos = Options.create(method="cosmos", **values)
        assert (cosmos.p, cosmos.lam) == (1.2, 2.0)
    assert Options.create(method="phn", p=0.5).p == 0.5
    assert Options.create(W=None, seed=None) == Options.create()
    assert "p" in Options.create(method="phn").model_dump(exclude_defaults=True)
