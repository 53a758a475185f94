"""The words everyone uses: money, addresses, time, errors, settings, logs, metrics."""
