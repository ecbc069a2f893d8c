"""Formulas as MathML, which every current browser draws by itself: no script, no font, nothing to fetch.

Sphinx' own renderers either load MathJax from elsewhere when a page is read or need LaTeX when it is built. docutils,
which Sphinx stands on, translates LaTeX to MathML; this registers its translation as a renderer.
"""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def mathml(latex: str, as_block: bool) -> str:
    """Translate a formula.

    Parameters
    ----------
    latex : str
        Without dollars.
    as_block : bool
        Whether it stands on a line of its own.

    Raises
    ------
    MathError
        When it uses a command that docutils does not know.
    """
    return str(latex2mathml.tex2mathml(latex, as_block=as_block))


def translated(node: nodes.math | nodes.math_block) -> str:
    """Translate a formula of a page; one that cannot be is shown as it is, and a strict build fails on the warning."""
    block = isinstance(node, nodes.math_block)
    if block and node.get("label") is not None:
        logger.warning("a formula has a label, which this renderer has no numbers for", location=node)
    try:
        return mathml(node.astext(), as_block=block)
    except (MathError, SyntaxError) as error:
        logger.warning("the formula %r cannot be translated to MathML: %s", node.astext(), error, location=node)
        return f"<code>{escape(node.astext())}</code>"


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula inside a sentence."""
    translator.body.append(translated(node))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, scrolling on its own where it is wider than a phone."""
    translator.body.append(f'<div class="formula">{translated(node)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name `mathml`."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
