"""`python -m leasehold` is the command line."""

from leasehold.cli.main import main

main()
