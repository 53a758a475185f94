"""A market that lives: prices, keepers, lenders, borrowers, stakers and voters, all from one seed."""
