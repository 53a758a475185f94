"""Referral: codes, referred wallets, rewards earned from indexed events, payouts."""
