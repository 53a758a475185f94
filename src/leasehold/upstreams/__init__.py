"""The services the application API passes through to: referral, payments, swap router and an SVM stand-in."""
