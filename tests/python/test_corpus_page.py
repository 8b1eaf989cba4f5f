"""The page of `assay corpus`, used in a real browser: nothing of it may need a network."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from corpus_runs import make_kernel, run, wait_for

if "CI" not in os.environ:
    pytest.importorskip("rich", reason="no packages of requirements-corpus.txt")
    pytest.importorskip("plotly", reason="no packages of requirements-corpus.txt")
from assay.corpus import page

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
HOSTILE = "</script><img src=x onerror=alert(1)>@DATA@"


@pytest.fixture(scope="module")
def browser():
    selenium = pytest.importorskip("selenium.webdriver", reason="no selenium")
    if not (CHROMIUM and DRIVER):
        pytest.skip("no chromium and chromium-driver (Debian packages)")
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "window-size=1400,1200"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = selenium.Chrome(options, selenium.ChromeService(DRIVER))
    yield driver
    driver.quit()


def find(browser, selector: str) -> list:
    return browser.find_elements("css selector", selector)


def names(browser) -> list[str]:
    return [cell.text for cell in find(browser, "tr.kernel td.name")]


def test_a_session_writes_it_and_a_browser_shows_it(tmp_path: Path, browser) -> None:
    kernels = {"a": "refuted", "b": "refuted", "c": "proved", "d": "unsupported", "e": "crash"}
    for name, word in kernels.items():
        text = f"// {word}\n" + "// filler\n" * 5 + f"// line 7 of {name} {HOSTILE}"
        make_kernel(tmp_path, f"level_{1 + (name > 'b')}/{name}", text, "reference = 1\n")
    run(tmp_path, "--html", tmp_path / "page.html")
    browser.get(f"file://{tmp_path}/page.html")
    assert len(find(browser, "tr.kernel")) == 5
    assert find(browser, "#count")[0].text == "5 of 5 kernels"
    for figure in ("verdicts", "seconds", "causes"):
        assert find(browser, f"#{figure} .bars .point"), figure
    # A filter that is typed, a level that is chosen, a verdict that is switched off.
    box = find(browser, "#filter")[0]
    box.send_keys("refuted LEVEL_1 b")
    assert names(browser) == ["level_1/b"]
    assert find(browser, "#count")[0].text == "1 of 5 kernels"
    box.clear()
    box.send_keys("accuracy proved")
    assert names(browser) == ["level_2/c"]
    box.clear()
    box.send_keys("nothing has this")
    assert names(browser) == []
    box.clear()
    box.send_keys(" ")
    find(browser, "#level option[value='2']")[0].click()
    assert names(browser) == ["level_2/c", "level_2/d", "level_2/e"]
    find(browser, "#chips button[data-verdict='crash']")[0].click()
    assert names(browser) == ["level_2/c", "level_2/d"]
    find(browser, "#level option[value='']")[0].click()
    find(browser, "#kernels thead th")[0].click()
    find(browser, "#kernels thead th")[0].click()
    assert names(browser)[0] == "level_2/d"
    # Details: the verdict's text, the source with the line of the witness, the script.
    row = find(browser, "tr.kernel td.name")[-1]
    assert row.text == "level_1/a"
    row.click()
    wait_for(lambda: bool(find(browser, "tr.detail pre")))
    shown = find(browser, "tr.detail")[0].text
    for words in ("refuted: what the check prints", "print('the witness')", "reference = 1"):
        assert words in shown
    assert f"line 7 of a {HOSTILE}" in find(browser, "tr.detail pre .here")[0].text
    row.click()
    assert not find(browser, "tr.detail")
    assert browser.get_log("browser") == []
    urls = "return performance.getEntriesByType('resource').map(e => e.name)"
    assert browser.execute_script(urls) == []


def many_rows(number: int) -> list[dict]:
    verdicts = ("proved", "refuted", "unknown", "unsupported")
    return [
        {
            "name": f"level_1/kernel_{n}",
            "key": f"{n:064x}",
            "kernel": "kernel.cu",
            "level": "1",
            "verdict": verdicts[n % 4],
            "class": "value" if n % 4 == 1 else "",
            "cause": f"cause {n % 9}" if n % 4 else "",
            "summary": "",
            "seconds": 0.1 * (n % 500),
        }
        for n in range(number)
    ]


def test_seven_thousand_rows_stay_quick(tmp_path: Path, browser) -> None:
    file = tmp_path / "page.html"
    page.write_page(file, f"many {HOSTILE}", many_rows(7000), {}, tmp_path / "log")
    browser.get(f"file://{file}")
    assert browser.title == f"many {HOSTILE}"
    assert len(find(browser, "tr.kernel")) == 200
    find(browser, "#more")[0].click()
    assert len(find(browser, "tr.kernel")) == 400
    start = time.monotonic()
    find(browser, "#filter")[0].send_keys("kernel_123 unknown")
    expected = [n for n in range(7000) if str(n).startswith("123") and n % 4 == 2]
    assert names(browser) == [f"level_1/kernel_{n}" for n in expected]
    assert time.monotonic() - start < 10  # 18 key strokes, each a whole filter; 0.8 s seen
    assert find(browser, "#count")[0].text == f"{len(expected)} of 7,000 kernels"
    assert browser.get_log("browser") == []


def test_it_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("old")
    (tmp_path / "page.html.new").mkdir()
    with pytest.raises(OSError):
        page.write_page(file, "t", many_rows(3), {}, tmp_path / "log")
    assert file.read_text() == "old"
