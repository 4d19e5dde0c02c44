"""Take the README's picture of the explorer from the built book, by Debian's chromium:
`python book/_assets/explorer_picture.py`."""

from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1400, "height": 1000}, reduced_motion="reduce")
    page.goto((HERE.parents[1] / "_build/html/index.html").as_uri())
    page.locator(".pw-ready").scroll_into_view_if_needed()
    box = page.locator(".pw-ready > .pw-panels").first.bounding_box()
    clip = {**box, "y": box["y"] - 45, "height": 500}
    page.screenshot(path=HERE / "explorer.png", clip=clip)
    browser.close()
