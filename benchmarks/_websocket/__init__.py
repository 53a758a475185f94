"""The processes of the WebSocket benchmark: two servers, their clients, and blocks with events."""
