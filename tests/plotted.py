"""How much of a figure is plotted: the area of the axes that hold data, beside that of the whole picture."""

import numpy as np

LEAST_SHARE, LEAST_WIDTH, LEAST_HEIGHT = 0.15, 0.6, 0.3
"""Share of a picture that its axes with data have at least, and the sides of each of these, in inches."""


def has_data(axis):
    """Tell whether axes hold an image, a shape, or a point of a curve inside of them; a level or a word is none."""
    if axis.images or axis.patches:
        return True
    places = [line.get_transform().transform(line.get_xydata()) for line in axis.lines if line not in rulers(axis)]
    places += [own.get_offset_transform().transform(own.get_offsets()) for own in axis.collections]
    inside = [axis.bbox.padded(1).contains(x, y) for points in places for x, y in points if np.isfinite([x, y]).all()]
    return any(inside)


def rulers(axis):
    """Lines from one end of the axes to the other, such as a zero."""
    return [line for line in axis.lines if line.get_transform() != axis.transData]


def named(axis):
    """Names of what a panel shows, as its legend has them."""
    return axis.get_legend_handles_labels()[1]


def ruled(axis):
    """Where a panel has a straight line: at which y, or at which x of an upright one."""
    ends = [line.get_xydata() for line in rulers(axis)]
    return [start[1] if start[1] == end[1] else start[0] for start, end in ends]


def words_on(canvas):
    """Words on a grid of images."""
    return [text.get_text() for text in canvas.axes[0].texts]


def too_small(canvas):
    """Say what is too small or empty in a figure that was laid out; "" where nothing is."""
    full = [axis for axis in canvas.axes if axis.get_visible() and has_data(axis)]
    sides = [tuple(axis.bbox.size / canvas.dpi) for axis in full]
    share = sum(width * height for width, height in sides) / (canvas.get_figwidth() * canvas.get_figheight())
    small = [f"{w:.2f} x {h:.2f} inches" for w, h in sides if w < LEAST_WIDTH or h < LEAST_HEIGHT]
    if small or share < LEAST_SHARE:
        few = ", ".join(small) or "none"
        return f"axes with data have {share:.0%} of the picture, and of these are too small: {few}"
    return ""
