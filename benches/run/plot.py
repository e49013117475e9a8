"""Line plots as small SVG files."""

import math

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 40, 48
COLOURS = ["#1f6feb", "#8b949e", "#bc4c00"]
MOST_POINTS = 60


def steps(top, count=5):
    """Round numbers from 0 to at least `top`."""
    rough = (top or 1) / count
    size = 10 ** math.floor(math.log10(rough))
    size *= next(factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    return [size * at for at in range(math.ceil((top or 1) / size) + 1)]


def decades(low, high):
    return [10.0 ** at for at in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def label(value):
    if value >= 1000:
        return f"{value / 1000:g}k"
    return f"{value:.6g}"


def escaped(words):
    return words.replace("&", "&amp;").replace("<", "&lt;")


class Axes:
    """Where a point of the data is in the picture."""

    def __init__(self, curve):
        points = [point for line in curve["lines"].values() for point in line]
        self.logarithmic = curve["logarithmic"]
        across = [x for x, _ in points]
        self.columns = decades(min(across), max(across)) if self.logarithmic else steps(max(across))
        self.rows = steps(max(y for _, y in points))

    def x(self, value):
        low, high = self.columns[0], self.columns[-1]
        if self.logarithmic:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        return HEIGHT - BOTTOM - value / self.rows[-1] * (HEIGHT - TOP - BOTTOM)


def text(x, y, words, anchor="middle", size=12, colour="#57606a"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}" '
            f'fill="{colour}">{escaped(words)}</text>')


def plot(curve):
    """The picture of a curve of `scripts/bench --json`."""
    axes = Axes(curve)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'font-family="sans-serif"><title>{escaped(curve["title"])}</title>',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
             text(LEFT, 20, f"{curve['title']} ({curve['unit']})", "start", 14, "#1f2328")]
    for value in axes.rows:
        y = axes.y(value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#d0d7de"/>')
        parts.append(text(LEFT - 6, y + 4, label(value), "end"))
    for value in axes.columns:
        parts.append(text(axes.x(value), HEIGHT - BOTTOM + 18, label(value)))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, curve["across"]))
    for number, (name, points) in enumerate(curve["lines"].items()):
        colour = COLOURS[number % len(COLOURS)]
        every = max(1, math.ceil(len(points) / MOST_POINTS))
        shown = points[::every] + ([points[-1]] if (len(points) - 1) % every else [])
        places = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in shown)
        parts.append(f'<polyline points="{places}" fill="none" stroke="{colour}" '
                     'stroke-width="2"/>')
        parts.append(text(WIDTH - RIGHT, 20 + 15 * number, name, "end", 12, colour))
    return "\n".join(parts) + "\n</svg>\n"
