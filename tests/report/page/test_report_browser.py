"""The page in a real headless Chromium: clicked, filtered, resized, printed and typed at."""

import base64
import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.report.conftest import run_report as main
from tests.report.conftest import write_run

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is in the dev extra")
NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), "")
DRIVER = shutil.which("chromedriver") or ""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="no chromium with its chromedriver here"),
]
ATTACK = "<script>document.title='broken'</script>"
Browser = Any


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page of six arms of three seeds; one is undefined past L, one failed, one is damaged."""
    root = tmp_path_factory.mktemp("page")
    for place, pos in enumerate(("rope", "alibi", "learned")):
        for norm in ("pre", "post"):
            for seed in (0, 1, 2):
                accuracy: list[float | None] = [0.4, 0.45, 0.44, 0.41, 0.39 - place / 100]
                if pos == "learned":
                    accuracy[2:] = [None, None, None]
                noise = (seed * 7 + place * 3 + (norm == "post")) % 5 / 500
                loss = 2.0 + place / 10 + noise + (norm == "post")
                failed = {"status": "failed", "error": ATTACK} if (place, seed) == (1, 1) else {}
                directory = write_run(
                    root,
                    {"pos": pos, "norm": norm},
                    seed=seed,
                    loss__validation=loss,
                    extrapolation__accuracy=accuracy,
                    corpus__sha256=("ab" if pos == "learned" else "cd") * 32,
                    **failed,
                )
                (directory / "run.log").write_text(f"the log {ATTACK}")
    damaged = write_run(root, {"pos": "none"})
    (damaged / "record.json").write_text("{")
    assert main([str(root / "scout"), "-o", str(root / "report.html")]) == 0
    return (root / "report.html").as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: Browser, address: str) -> Browser:
    """The page afresh, wide and light."""
    resize(browser, 1280, 800)
    media(browser, "light")
    browser.get(address)
    return browser


def resize(browser: Browser, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def media(browser: Browser, scheme: str, kind: str = "") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": kind, "features": features})


def column(page: Browser, grid: str, place: int) -> list[str]:
    """The texts of a column of the rows that are to be seen."""
    script = """return [...document.querySelectorAll(arguments[0] + ' [data-row]:not([hidden])')]
        .map(row => row.querySelectorAll('[data-c]')[arguments[1]].textContent.trim())"""
    return page.execute_script(script, grid, place)


def find(page: Browser, selector: str) -> Any:
    return page.find_element("css selector", selector)


def test_it_opens_without_errors_and_nothing_of_a_log_runs(page: Browser) -> None:
    assert page.get_log("browser") == []
    assert page.title == "scout – ablate report"
    assert find(page, "h1").text == "scout"
    assert len(page.find_elements("css selector", "figure svg")) >= 6
    assert "the log <script>" in find(page, "#runs .pair div:last-child pre").get_property(
        "textContent"
    )


def test_what_came_out_is_on_the_first_screen(page: Browser) -> None:
    titles = page.find_elements("css selector", ".answer h2")
    assert titles[0].text.startswith("What mattered")
    assert all(title.rect["y"] < 600 for title in titles)
    claims = find(page, ".answer.mattered").text
    assert "norm=post" in claims
    assert "worse than" in claims


@pytest.mark.parametrize("width", [1200, 1600])
def test_the_results_are_not_cut_off(page: Browser, width: int) -> None:
    resize(page, width, 900)
    table = find(page, "#rows .scroll")
    assert table.get_property("scrollWidth") <= table.get_property("clientWidth")


def test_columns_sort_in_both_directions_with_undefined_last(page: Browser) -> None:
    heads = [head.text for head in page.find_elements("css selector", "#rows thead th")]
    loss = next(i for i, head in enumerate(heads) if head.startswith("val. loss"))
    far = next(i for i, head in enumerate(heads) if "8L" in head)
    button = find(page, f"#rows [data-sort='{loss}']")
    button.click()
    up = [float(text.split()[0]) for text in column(page, "#rows", loss)]
    assert up == sorted(up)
    button.click()
    assert [float(text.split()[0]) for text in column(page, "#rows", loss)] == up[::-1]
    assert find(page, "#rows [aria-sort]").get_attribute("aria-sort") == "descending"
    last = page.find_element("css selector", f"#rows [data-sort='{far}']")
    for _ in range(2):
        page.execute_script("arguments[0].click()", last)
        assert column(page, "#rows", far)[-2:] == ["undef.", "undef."]


def test_words_and_menus_filter(page: Browser) -> None:
    assert column(page, "#runs", 0).count("rope") == 6
    find(page, "#runs [data-search]").send_keys("rope post")
    assert column(page, "#runs", 0) == ["rope"] * 3
    assert find(page, "#runs [data-count]").text == "3 of 19 runs"
    find(page, "#runs [data-search]").clear()
    find(page, "#runs [data-search]").send_keys(" ")
    menu = next(
        one
        for one in page.find_elements("css selector", "#runs label")
        if one.text.startswith("status")
    )
    menu.find_element("css selector", "select").send_keys("failed")
    assert set(column(page, "#runs", 3)) == {"failed"}
    find(page, "#rows [data-search]").send_keys("alibi")
    assert column(page, "#rows", 0) == ["alibi", "alibi"]


def test_a_fold_opens_by_keyboard_and_a_column_sorts_by_keyboard(page: Browser) -> None:
    fold = find(page, "#runs [data-row] summary")
    fold.send_keys("\ue007")
    inside = find(page, "#runs [data-row][open] .inside").text
    for words in ("ablate run", "pos: ", "End of run.log", "sha256"):
        assert words in inside
    button = find(page, "#rows [data-sort='0']")
    page.execute_script("arguments[0].focus({focusVisible: true})", button)
    button.send_keys("\ue007")
    assert column(page, "#rows", 0) == sorted(column(page, "#rows", 0))
    style = "return getComputedStyle(document.activeElement).outlineStyle"
    assert page.execute_script(style) == "solid"


def contrast(page: Browser, selector: str) -> float:
    """The ratio of luminance of a text and what it stands on (WCAG 2)."""
    script = """
    const lum = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(v => {
        v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
        return .2126 * r + .7152 * g + .0722 * b; };
    let at = document.querySelector(arguments[0]); const ink = getComputedStyle(at);
    const text = lum(at.tagName === 'text' ? ink.fill : ink.color);
    while (at && getComputedStyle(at).backgroundColor === 'rgba(0, 0, 0, 0)') at = at.parentElement;
    const back = lum(getComputedStyle(at).backgroundColor);
    return (Math.max(text, back) + .05) / (Math.min(text, back) + .05);"""
    return float(page.execute_script(script, selector))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_can_be_read_figures_too(page: Browser, scheme: str) -> None:
    media(page, scheme)
    dark = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(18, 20, 22)") == (scheme == "dark")
    for selector in ("h1", ".facts", "small", "nav a", "figure text", "td .k", "figcaption p"):
        assert contrast(page, selector) >= 4.5, selector


def test_a_phone_scrolls_tables_and_not_the_page(page: Browser) -> None:
    resize(page, 390, 844)
    root = "document.documentElement"
    assert page.execute_script(f"return {root}.scrollWidth") <= 390
    page.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    assert page.execute_script(f"return {root}.scrollWidth") <= 390
    wide = "return document.querySelector('#rows .scroll').scrollWidth"
    assert page.execute_script(wide) > 390


def test_print_is_light_and_shows_whole_tables(page: Browser) -> None:
    media(page, "dark", "print")
    colour = "return getComputedStyle(document.querySelector(arguments[0])).color"
    assert page.execute_script(colour, "h1") == "rgb(28, 30, 33)"
    shown = "return getComputedStyle(document.querySelector(arguments[0])).display"
    assert page.execute_script(shown, "nav") == "none"
    assert page.execute_script(shown, ".tools") == "none"
    limit = "return getComputedStyle(document.querySelector('#rows .scroll')).maxHeight"
    assert page.execute_script(limit) == "none"
    resize(page, 760, 1000)
    assert page.execute_script("return document.documentElement.scrollWidth") <= 760
    opened = "return document.querySelector('.notes').open"
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert page.execute_script(opened)
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert not page.execute_script(opened)
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF-")


def test_it_asks_nothing_of_the_network(page: Browser) -> None:
    script = "return JSON.stringify(performance.getEntriesByType('resource').map(e => e.name))"
    assert [name for name in json.loads(page.execute_script(script)) if "data:" not in name] == []
