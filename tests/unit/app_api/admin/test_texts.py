"""Texts, their keys and their placeholders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.app_api.admin import texts
from leasehold.core.errors import InvalidInput

CONTENT = {"push": {"title": "Risk of {ticker}"}, "message": {"hello": "Hello {name}", "deep": {"er": "%s {{x}}"}}}
_NAMES = st.text("abcz-_", min_size=1, max_size=4)


def test_placeholders_are_found_once() -> None:
    """Braces, doubled braces, digits and printf forms count; words in passing do not."""
    assert texts.placeholders("{a} {a} {{b}} {0} %s %d {not this} 5%") == ["{a}", "{{b}}", "{0}", "%s", "%d"]
    assert texts.missing("{a} {{b}}", "{{b}} {c}") == ["{a}"]


def test_texts_are_found_by_key() -> None:
    """Nested groups become keys joined with dots."""
    assert texts.flattened(CONTENT) == {
        "push.title": "Risk of {ticker}",
        "message.hello": "Hello {name}",
        "message.deep.er": "%s {{x}}",
    }


@pytest.mark.parametrize("key", ["message", "message.hello.x", "", "a..b", "a b", ".a", "x" * 300])
def test_keys_that_lead_nowhere_are_refused(key: str) -> None:
    """A key that stops at a group, leads through a text or is no key is refused by name."""
    with pytest.raises(InvalidInput) as refusal:
        texts.with_text(CONTENT, key, "v")
    assert refusal.value.field == "key"


@given(st.lists(_NAMES, min_size=1, max_size=4), st.text(max_size=5))
def test_a_text_that_was_set_is_found(names: list[str], value: str) -> None:
    """Setting a text changes that text and no other, and leaves the original alone."""
    key = ".".join(["new", *names])
    changed = texts.with_text(CONTENT, key, value)
    assert texts.flattened(changed) == {**texts.flattened(CONTENT), key: value}
    assert "new" not in CONTENT
