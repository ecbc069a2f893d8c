"""What sentences show of names."""

from markupsafe import Markup

from lookalike.core.errors import escaped, escaped_in_page

STEERING = [*range(0x20), *range(0x7F, 0xA0), *range(0x200B, 0x2010), *range(0x2028, 0x202F)]
STEERING += [0xAD, 0x61C, 0x2066, 0xFEFF, 0xDCFF, 0xE0041]


def test_what_steers_a_terminal_or_turns_a_line_round_is_escaped_and_nothing_else():
    for sign in map(chr, STEERING):
        assert escaped(f"a{sign}b") == f"a{sign}b".encode("unicode_escape").decode()
        assert (escaped_in_page(sign) == sign) == (sign in "\n\t")
    for name in ("caf\u00e9 \u5bb6 \u0928\u094d \u05e9\u05dc", "10.30\u202fAM\u3000", Markup("\u00ad")):
        assert escaped_in_page(name) == name
