"""Headers are read once, and lists of them whole."""

from __future__ import annotations

from leasehold.serving.heads import Heard


def test_what_matters_is_found() -> None:
    """Each header that answers depend on, of lists every line, of the others the first."""
    heard = Heard(
        [
            (b"host", b"x"),
            (b"accept-encoding", b"gzip"),
            (b"if-none-match", b'"a"'),
            (b"accept-encoding", b"zstd"),
            (b"if-none-match", b'"b"'),
            (b"x-forwarded-for", b"1.1.1.1"),
            (b"x-forwarded-for", b"2.2.2.2"),
            (b"x-real-ip", b"3.3.3.3"),
            (b"origin", b"https://a.example"),
            (b"origin", b"https://b.example"),
            (b"x-request-id", b"one"),
            (b"x-request-id", b"two"),
        ]
    )
    assert heard.wish.accept_encoding == b"gzip, zstd"
    assert heard.wish.if_none_match == b'"a", "b"'
    assert heard.forwarded == [b"1.1.1.1", b"2.2.2.2"]
    assert (heard.real_ip, heard.origin, heard.request_id) == (b"3.3.3.3", b"https://a.example", b"one")


def test_nothing_said_is_nothing_heard() -> None:
    """Without those headers, or with empty ones, there is nothing."""
    for headers in ([(b"host", b"x")], [(b"accept-encoding", b""), (b"if-none-match", b""), (b"origin", b"")]):
        heard = Heard(headers)
        assert heard.wish.accept_encoding is heard.wish.if_none_match is None
        assert not heard.forwarded
        assert not heard.origin
        assert heard.real_ip is heard.request_id is None
