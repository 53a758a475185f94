"""The operator's routes: snapshots, gated configuration, locales and translations; off unless a key is configured."""
