"""Routes that build unsigned transactions or pass a change on; nothing is signed or broadcast here."""
