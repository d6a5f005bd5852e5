"""A mistake on the command line is told in one or two lines, and nothing is created."""

from pathlib import Path
from typing import Any

import pytest

from ablate.cli import main
from ablate.config.compose import Composer
from ablate.config.identity import safe
from ablate.errors import UserError

MISTAKES = {
    "pos=rpoe": ["pos=rpoe", "alibi, ", "Did you mean rope?"],
    "norm=prenorm": ["norm=prenorm", "post, pre", "Did you mean pre?"],
    "kv_heads=3": ["kv_heads=3", "heads=4", "kv_heads=2"],
    "dpeth=3": ["dpeth", "Did you mean depth?"],
    "+dpeth=3": ["dpeth", "Did you mean depth?"],
    "++depth=3": ["without the +"],
    "depth=abc": ["depth=abc", "a whole number"],
    "depth=2.5": ["depth=2.5", "a whole number"],
    "depth=null": ["depth=null", "null"],
    "depth": ["depth", "KEY=VALUE"],
    "pos": ["pos=CHOICE", "rope"],
    "pos=null": ["pos=null", "rope"],
    "~pos": ["~pos", "removed"],
    "width=65": ["heads=4", "width=65", "heads=5"],
    "width=12 heads=4": ["pos=rope", "even", "12", "4", "3"],
    "depth=0": ["depth=0", "1 to 4096"],
    "depth=1000000000000": ["depth=1000000000000", "1 to 4096"],
    "lr=-1": ["lr=-1", "above 0"],
    "lr=nan": ["lr=nan", "above 0"],
    "lr=1e-3,-1 -m": ["lr=-1", "above 0"],
    "dropout=1": ["dropout=1", "below 1"],
    "clip=0": ["clip=0", "null for no clipping"],
    "tied=maybe": ["tied=maybe", "true or false"],
    "warmup=linear warmup.steps=500": ["warmup.steps=500", "steps=400"],
    "warmup=linear warmup.steps=abc": ["warmup.steps=abc", "a whole number or null"],
    "warmup.steps=5": ["warmup=none has no options", "warmup=linear"],
    "pos.bse=3": ["pos.bse", "Did you mean base?"],
    "+pos.bse=3": ["pos.bse"],
    "pos.base=abc": ["pos.base=abc", "a finite number"],
    "pos.base=inf": ["pos.base=inf", "a finite number"],
    "pos.layout=foo": ["pos=rope", "layout=foo", "half_split", "interleaved"],
    "pos=learned pos.rows=8": ["pos=learned", "rows=8", "seq_len=64"],
    "evaluate.windwos=3": ["evaluate.windwos", "Did you mean evaluate.windows?"],
    "evaluate.lengths=3": ["evaluate.lengths=3", "a list"],
    "evaluate.lengths=[]": ["evaluate.lengths", "multiples of seq_len"],
    "seed=0,1": ["seed=0,1", "add -m"],
    "pos=rope,norm=pre": ["space between"],
    "study=a/b": ["study=a/b", "folder name"],
    "device=tpu": ["device=tpu", "auto, cpu"],
    "foo/bar=1": ["foo/bar", "no such group"],
    "--wat": ["--wat", "no such flag", "--cfg"],
    "--cfg nonsense": ["--cfg nonsense", "job, hydra, all"],
    "--config-dir nowhere": ["nowhere", "no such folder"],
    "--resolve": ["--resolve", "--cfg job"],
    "-m pos=glob(zz*)": ["pos=glob(zz*)", "matches nothing", "rope"],
    "pos=glob(r*)": ["pos=randomized,rope", "add -m"],
    "-m seed=0..2000000000": ["more than 100,000 values"],
    "-m seed=0..999 lr=range(0.1,1,0.001)": ["900,000 runs", "at most 100,000"],
    "-m seq_len=64,sort(2,1),64": ["a sweep inside a sweep"],
    "pos=learned pos.rows=1000000000 width=65536": ["parameters", "GiB of this machine"],
    "pos=randomized pos.maximum=67108865": ["maximum=67108865", "at most 67108864"],
    "lr=${now:%Y}": ["lr=${now:%Y}", "write the value"],
    "seed=${oc.env:HOME}": ["seed=${oc.env:HOME}", "write the value"],
    "seed=${study}": ["seed=${study}", "write the value"],
    "evaluate.lengths=${oc.deprecated:depth}": ["evaluate.lengths", "write the value"],
    "evaluate.lengths=${depth}": ["evaluate.lengths=${depth}", "a list"],
    "depth=${lr}": ["depth=${lr}", "a whole number"],
    "depth=${depth}": ["depth=${depth}", "Recursive"],
    "pos=randomized pos.maximum=99999999999999999999": ["pos.maximum", "to 1000000000"],
    "-m lr=interval(0,1)": ["lr=interval(0,1)", "lr=A,B"],
    "-m seed=range(0,1,0)": ["seed=range(0,1,0)", "seed=A,B"],
    "-m seed=range(0,0)": ["seed=range(0,0)", "no value"],
    "hydra.run.dir=here": ["hydra.run.dir", "outputs="],
    "-m seed=0,1 hydra.sweep.subdir=same": ["hydra.sweep.subdir", "study="],
    "hydra=3": ["must be a string"],
    "corpus=text corpus.files=nowhere.txt": ["corpus.files=nowhere.txt"],
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_named_and_creates_nothing(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", *line.split()]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    message = printed.err.splitlines()[-1]
    assert message.startswith("ablate: ")
    assert "Traceback" not in printed.err
    for part in MISTAKES[line]:
        assert part in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"a\x00b", b"too short"])
def test_a_useless_corpus_is_named_and_creates_nothing(
    content: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "x.txt").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "corpus=text", "corpus.files=x.txt"]) == 2
    assert "corpus" in capsys.readouterr().err.splitlines()[-1]
    assert [p.name for p in tmp_path.iterdir()] == ["x.txt"]


def test_a_corpus_too_small_for_the_long_windows_is_told_with_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.txt").write_text("some words\n" * 300, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "corpus=text", "corpus.files=x.txt"]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert "512" in message
    assert "520" in message
    assert not (tmp_path / "outputs").exists()


def config_of(*words: str) -> list[dict[str, Any]]:
    composer = Composer()
    with composer.session():
        return [composer.one(job)[0] for job in composer.jobs(words, sweep=True)]


@pytest.mark.parametrize(
    "text", ["2024_10_01", "010", "1e3", "0x10", "true", "Off", "nan", "1_0", ".5", "a b", "größe"]
)
def test_a_text_key_keeps_what_was_typed(text: str) -> None:
    two = config_of("corpus=text", f"study={text},x", f"corpus.files=[{text},{text}]")
    assert [config["study"] for config in two] == [text, "x"]
    assert two[0]["corpus"]["files"] == [text, text]
    (hub,) = config_of("corpus=hub", f"corpus.subset={text}", "corpus.revision=null")
    assert (hub["corpus"]["subset"], hub["corpus"]["revision"]) == (text, None)


def test_hydra_is_given_words_that_it_reads_as_we_do() -> None:
    words = ["study=2024_10_01,on", "lr=1e-3", "pos=glob(kerple*)", "pos.base=1_0"]
    assert Composer().spelled(words) == (
        "study='2024_10_01',on",
        "lr=1e-3",
        "pos=kerple_log,kerple_power",
        "pos.base=1_0",
    )


def test_a_reference_has_the_type_of_what_it_stands_for() -> None:
    (config,) = config_of("lr=${depth}", "pos.base=${width}", "evaluate.lengths=[${depth},0.5]")
    assert (config["lr"], config["pos"]["base"]) == (4.0, 64)
    assert type(config["lr"]) is float
    assert config["evaluate"]["lengths"] == [4.0, 0.5]


@pytest.mark.parametrize("study", ["x" * 256, "a\u202eb", "a\nb", "..", "a\\b"])
def test_a_study_is_a_name_that_a_folder_can_have_and_a_person_read(study: str) -> None:
    with pytest.raises(UserError, match="must be a folder name"):
        config_of(f'study="{study}"')


AMBIGUOUS = ["base: 010", "layout: on", "base: ~", "base: 1:30", "base: .inf", "base: inf"]


@pytest.mark.parametrize("option", AMBIGUOUS)
def test_a_file_that_yaml_reads_otherwise_than_the_command_line_is_refused(
    option: str, tmp_path: Path
) -> None:
    (tmp_path / "pos").mkdir()
    target = "_target_: ablate.model.position.rotary.Rope"
    mine = tmp_path / "pos" / "mine.yaml"
    mine.write_text(f"# mine\n{target}\n{option}\n")
    with pytest.raises(UserError, match=r"mine\.yaml: cannot be read: .* in line 3: YAML makes"):
        Composer([tmp_path]).jobs(["pos=mine"], sweep=False)
    mine.write_text(f"# mine\n{target}\nbase: 1e4\nlayout: half_split\n")
    composer = Composer([tmp_path])
    with composer.session():
        assert composer.one(["pos=mine"])[1].name.startswith("pos=mine,norm=pre,depth=4,seed=0-")


def names(*overrides: str) -> tuple[str, str]:
    composer = Composer()
    with composer.session():
        _, identity = composer.one(overrides)
    return identity.name, identity.arm


def test_a_name_shows_the_core_and_whatever_differs() -> None:
    name, arm = names(
        "depth=24", "pos=alibi", "norm.final=false", "warmup=linear", "warmup.steps=9"
    )
    readable = "pos=alibi,norm=pre,depth=24,norm.final=false,warmup=linear,warmup.steps=9"
    assert name.rsplit("-", 1)[0] == f"{readable},seed=0"
    assert arm.rsplit("-", 1)[0] == readable


def test_a_name_ignores_paths_device_and_verbosity() -> None:
    plain = names("depth=3")
    assert names("depth=3", "outputs=elsewhere", "device=cpu", "threads=1", "rerun=true") == plain
    assert names("depth=3", "checkpoint.every=7", "study=other") == plain
    assert names("depth=3", "lr=2e-3") != plain
    assert names("depth=3", "pos.layout=half_split") != plain


def test_seeds_share_an_arm_and_choices_do_not() -> None:
    assert names("seed=0")[1] == names("seed=1")[1]
    assert names("seed=0")[0] != names("seed=1")[0]
    assert names("pos=none")[1] != names("pos=alibi")[1]


def test_a_size_is_only_what_it_sets() -> None:
    assert names("size=deep") == names("depth=24")
    assert names("size=deep", "depth=3") == names("depth=3")


def test_a_sweep_is_the_product_and_equal_values_fold() -> None:
    jobs = Composer().jobs(["pos=rope,alibi", "seed=range(3)"], sweep=True)
    assert len(jobs) == 6
    assert ["pos=rope", "seed=0"] in jobs


def test_every_group_default_exists_and_composes() -> None:
    composer = Composer()
    defaults = composer.catalogue.default_choices()
    for group in composer.catalogue.groups():
        for choice in composer.catalogue.names(group):
            if "???" in (composer.catalogue.path(group, choice) or Path()).read_text():
                continue
            with composer.session():
                config, identity = composer.one([f"{group}={choice}"])
            assert config["depth"]
            if group in defaults and defaults[group] and group in identity.choices:
                assert identity.choices[group] == choice


def test_unknown_names_raise_before_composition() -> None:
    with pytest.raises(UserError, match="Did you mean rope"):
        Composer().jobs(["pos=roope"], sweep=False)
    with pytest.raises(UserError, match=r"needs --config-dir DIR, with DIR/pos/recency\.yaml"):
        Composer().jobs(["pos=recency"], sweep=False)


def test_a_space_after_a_comma_is_told() -> None:
    with pytest.raises(UserError, match=r"pos=rope,: ends in a comma.*pos=A,B"):
        Composer().jobs(["pos=rope,", "alibi"], sweep=True)


def test_a_value_in_a_folder_name_has_no_special_signs() -> None:
    assert safe("a/b c,d") == "b_c_d"
    assert safe(None) == "null"


def test_the_names_of_runs_made_before_stay_as_they_are() -> None:
    name, _ = names("clip=2", "lr=1e-5", "pos.base=1000000.0", "dropout=0.25")
    told = "pos=rope,norm=pre,depth=4,pos.base=1e+06,lr=1e-05,clip=2,dropout=0.25,seed=0-89c643ea"
    assert name == told


def test_a_name_is_short_enough_for_a_file_system_in_any_script() -> None:
    composer = Composer()
    texts = [f"corpus.files='{letter * 60}.txt'" for letter in "漢字"]
    with composer.session():
        names = [composer.one(["corpus=text", "clip=0.5", text])[1].name for text in texts]
    assert max(len(name.encode()) for name in names) <= 255
    assert names[0] != names[1]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("_target_: [a", ["cannot be read", "mine.yaml"]),
        ("base: 3", ["pos=mine", "_target_"]),
        ("_target_: math.pi", ["pos=mine", "math.pi", "no class"]),
        ("_target_: fractions.Fraction", ["pos=mine", "cannot be made", "TypeError"]),
        ("_target_: sys.exit", ["pos=mine", "cannot be made", "SystemExit"]),
        ("\xff", ["codec"]),
    ],
)
def test_a_faulty_choice_of_the_user_is_told_and_creates_nothing(
    content: str,
    parts: list[str],
    tmp_path: Path,
    words: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    own, empty = tmp_path / "own", tmp_path / "empty"
    (own / "pos").mkdir(parents=True)
    empty.mkdir()
    (own / "pos" / "mine.yaml").write_text(content, encoding="latin-1")
    monkeypatch.chdir(empty)
    line = ["run", "--config-dir", str(own), "pos=mine", "corpus=text", f"corpus.files={words}"]
    assert main(line) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert all(part in message for part in parts), message
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("name", ["my, own", "it's mine", "ü [x] {y}"])
def test_a_folder_of_choices_may_have_any_name(name: str, tmp_path: Path) -> None:
    (tmp_path / name / "pos").mkdir(parents=True)
    (tmp_path / name / "pos" / "mine.yaml").write_text("_target_: some.Thing\n")
    composer = Composer([tmp_path / name])
    with composer.session():
        assert composer.one(["pos=mine"])[0]["pos"] == {"_target_": "some.Thing"}


def test_a_choice_of_the_users_cannot_stand_in_for_a_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "pos").mkdir()
    (tmp_path / "pos" / "rope.yaml").write_text("_target_: some.Thing\n")
    with pytest.raises(UserError, match="pos=rope exists already"):
        Composer([tmp_path])


def test_a_key_given_twice_is_a_mistake() -> None:
    with pytest.raises(UserError, match="norm is given twice"):
        Composer().jobs(["norm=pre", "norm=post"], sweep=False)
