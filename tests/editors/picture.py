"""Pictures of what a terminal shows, drawn by Chromium."""

import html
import pathlib
import subprocess
import tempfile

BACK, FRONT = "#14161b", "#e0e2ea"
STYLE = f"""body {{ margin: 0; background: {BACK} }} pre {{ margin: 14px; color: {FRONT};
font: 15px/20px 'DejaVu Sans Mono', monospace }}
span {{ display: inline-block; height: 20px; vertical-align: top }}"""
NAMED = {"default": None, "black": "#07080d", "red": "#ffc0b9", "green": "#b3f6c0",
         "brown": "#fce094", "blue": "#a6dbff", "magenta": "#ffcaff", "cyan": "#8cf8f7",
         "white": "#eef1f8", "brightblack": "#9b9ea4", "brightred": "#ffc0b9",
         "brightgreen": "#b3f6c0", "brightyellow": "#fce094", "brightblue": "#a6dbff",
         "brightmagenta": "#ffcaff", "brightcyan": "#8cf8f7", "brightwhite": "#ffffff"}


def color(name):
    return NAMED.get(name, f"#{name}")


def span(text, cell):
    front, back = color(cell.fg), color(cell.bg)
    if cell.reverse:
        front, back = back or BACK, front or FRONT
    style = [f"color:{front}" if front else "", f"background:{back}" if back else "",
             "font-weight:bold" if cell.bold else "", "font-style:italic" if cell.italics else ""]
    return f'<span style="{";".join(filter(None, style))}">{html.escape(text)}</span>'


def page(screen, rows):
    """The screen as a page; cells of equal looks are one piece."""
    lines = []
    for number in range(rows):
        line, run, last = "", "", None
        for cell in (screen.buffer[number][column] for column in range(screen.columns)):
            if last is not None and cell[1:] != last[1:]:
                line, run = line + span(run, last), ""
            run, last = run + cell.data, cell
        lines.append(line + span(run, last))
    return f"<meta charset=utf-8><style>{STYLE}</style><pre>{chr(10).join(lines)}</pre>"


def draw(terminal, path, rows=None):
    """The terminal as a PNG; `rows`: only so many from the top."""
    rows = rows or terminal.rows
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "page.html")
        with terminal.lock:
            source.write_text(page(terminal.screen, rows))
        size = f"--window-size={terminal.columns * 9 + 38},{rows * 20 + 30}"
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", size,
                        f"--screenshot={pathlib.Path(path).resolve()}", source.as_uri()],
                       check=True, capture_output=True)
