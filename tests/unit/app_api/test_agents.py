"""Files for agents: what they promise is there, and they promise no more."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.unit.app_api.conftest import Running

from leasehold.app_api import agents

PAGE = Path(__file__).parents[3] / "web" / "src" / "agent" / "webmcp.ts"


async def _read(warm: Running, path: str) -> tuple[Any, str]:
    async with warm.client.get(path) as response:
        assert response.status == 200, path
        return await response.text(), response.headers["content-type"]


async def test_the_card_names_every_group_of_the_interface(warm: Running) -> None:
    """Its skills are the tags of the document, and it says that nothing is signed here."""
    _, document = await warm.get("/api/openapi.json")
    _, card = await warm.get("/.well-known/agent-card.json")
    used = {operation["tags"][0] for path in document["paths"].values() for operation in path.values()}
    assert {skill["id"] for skill in card["skills"]} == used
    assert all(skill["description"] for skill in card["skills"])
    assert (card["version"], card["interfaceDescription"]) == (document["info"]["version"], "/api/openapi.json")
    assert "Nothing is signed" in card["description"]
    assert "admin" not in str(card).lower()


async def test_the_tools_are_those_of_the_page(warm: Running) -> None:
    """Names, titles and which of them only read are as the page registers them."""
    _, card = await warm.get("/.well-known/mcp/server-card.json")
    source = PAGE.read_text()
    reading = re.findall(r'reading\("(\w+)", "([^"]+)"', source)
    acting = re.findall(r'name: "(\w+)",\s+title: "([^"]+)"', source)
    told = {one["name"]: (one["title"], "annotations" in one) for one in card["tools"]}
    assert told == {name: (title, True) for name, title in reading} | {name: (title, False) for name, title in acting}
    assert told == agents.TOOLS


async def test_skills_are_there_and_hash_to_what_is_said(warm: Running) -> None:
    """A skill that was changed on the way is noticed."""
    _, index = await warm.get("/.well-known/agent-skills/index.json")
    assert index["skills"]
    for one in index["skills"]:
        text, kind = await _read(warm, one["url"])
        assert one["digest"] == f"sha256:{sha256(text.encode()).hexdigest()}"
        assert text.startswith(f"---\nname: {one['name']}\ndescription: {one['description']}\n---\n")
        assert (kind, "/api/prices" in text) == ("text/markdown; charset=utf-8", True)


async def test_robots_are_sent_to_what_is_meant_for_them(warm: Running) -> None:
    """Pages are not to be collected, and the interface is named."""
    text, kind = await _read(warm, "/robots.txt")
    assert kind.startswith("text/plain")
    assert {"Disallow: /", "Allow: /.well-known/", "Allow: /llms.txt"} <= set(text.splitlines())
    assert "/api/openapi.json" in text
