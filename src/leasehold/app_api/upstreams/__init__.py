"""The services behind the application API, each as a typed client over one bounded transport."""
