"""How the development chain begins: accounts, validators, parameters, protocols."""
