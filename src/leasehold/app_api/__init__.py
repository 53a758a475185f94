"""The application API: what the web application reads, computed in the background or read at one height."""
