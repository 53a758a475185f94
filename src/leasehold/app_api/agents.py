"""Files that tell agents what is here: the interface, the tools of the page, and how to use the interface.

They say what there is and nothing more: agents read over HTTP as anybody does, the page's tools work in the page, and
neither signs nor sends anything.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from leasehold.serving.pages import by_tag, text_index
from leasehold.serving.routes import Registry
from leasehold.serving.snapshots import SnapshotTable

_TEXT = "text/plain; charset=utf-8"
_JSON = "application/json"
_SKILLS = "/.well-known/agent-skills"
_SKILL = "application-api"
# The tools that the page registers with a browser's agent, by name: title, and whether they only read.
TOOLS = {
    "get_connected_wallet": ("Get connected wallet", True),
    "get_balances": ("Get token balances", True),
    "get_open_leases": ("Get open leverage positions", True),
    "get_earn_positions": ("Get liquidity pool positions", True),
    "get_staking_delegations": ("Get staking delegations", True),
    "get_prices": ("Get oracle prices", True),
    "connect_wallet": ("Connect wallet", False),
    "navigate": ("Navigate to a page", False),
}


def robots(document_at: str) -> str:
    """Nobody is to collect the pages; what is meant for agents they may read."""
    return (
        "User-agent: *\nContent-Signal: search=no, ai-input=no, ai-train=no\nAllow: /.well-known/\nAllow: /llms.txt\n"
        f"Disallow: /\n# Agents: the interface is described at {document_at}\n"
    )


def catalogue(document_at: str) -> dict[str, Any]:
    """Where the interface is described."""
    return {"linkset": [{"anchor": "/api", "service-desc": [{"href": document_at, "type": _JSON}]}]}


def card(registry: Registry, document_at: str) -> dict[str, Any]:
    """What can be asked for here, group by group."""
    skills = [
        {
            "id": tag,
            "name": tag,
            "description": "; ".join(dict.fromkeys(route.summary for route in routes if route.summary)),
            "tags": [tag],
        }
        for tag, routes in by_tag(registry).items()
    ]
    return {
        "name": registry.title,
        "description": f"{registry.description} Signing stays with the person and their wallet, for good.",
        "version": registry.version,
        "documentationUrl": "/llms.txt",
        "supportedInterfaces": [{"url": "/api", "protocolBinding": "OpenAPI", "protocolVersion": "3.1"}],
        "interfaceDescription": document_at,
        "capabilities": {"streaming": False, "pushNotifications": False},
        "defaultInputModes": [_JSON],
        "defaultOutputModes": [_JSON],
        "skills": skills,
    }


def tools(registry: Registry) -> dict[str, Any]:
    """The tools that the page offers to an agent in the browser."""
    listed = [
        {"name": name, "title": title, **({"annotations": {"readOnlyHint": True}} if reads else {})}
        for name, (title, reads) in TOOLS.items()
    ]
    return {
        "serverInfo": {"name": registry.title, "version": registry.version},
        "description": "Tools of the web application, registered in the page with navigator.modelContext. They read "
        "what the page shows, open the wallet dialog and change pages; none signs or sends a transaction.",
        "transport": {"type": "webmcp", "endpoint": "/"},
        "capabilities": {"tools": {}},
        "tools": listed,
    }


def skill(registry: Registry, document_at: str) -> str:
    """How to use the interface, as a skill."""
    about = "Read prices, pools, positions, staking and governance, and have unsigned transactions built."
    return f"---\nname: {_SKILL}\ndescription: {about}\n---\n\n{text_index(registry, document_at=document_at)}"


def skills(text: str) -> dict[str, Any]:
    """The index of skills, with what each must hash to."""
    about = text.partition("description: ")[2].partition("\n")[0]
    return {
        "skills": [
            {
                "name": _SKILL,
                "type": "skill-md",
                "description": about,
                "url": f"{_SKILLS}/{_SKILL}/SKILL.md",
                "digest": f"sha256:{sha256(text.encode()).hexdigest()}",
            }
        ]
    }


async def publish(registry: Registry, snapshots: SnapshotTable, *, document_at: str) -> None:
    """Make the files the answers to their paths."""
    instructions = skill(registry, document_at)
    for target, body, kind in (
        ("/robots.txt", robots(document_at).encode(), _TEXT),
        ("/.well-known/api-catalog", catalogue(document_at), "application/linkset+json"),
        ("/.well-known/llms.txt", text_index(registry, document_at=document_at).encode(), _TEXT),
        ("/.well-known/agent-card.json", card(registry, document_at), _JSON),
        ("/.well-known/mcp/server-card.json", tools(registry), _JSON),
        (f"{_SKILLS}/index.json", skills(instructions), _JSON),
        (f"{_SKILLS}/{_SKILL}/SKILL.md", instructions.encode(), "text/markdown; charset=utf-8"),
    ):
        await snapshots.publish(
            target, body, height=0, time_ns=0, content_type=kind, cache_control="public, max-age=300"
        )
