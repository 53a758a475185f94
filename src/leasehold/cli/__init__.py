"""The command line: every command loads only what it needs, so that help is instant."""
