"""The web room: runs in the browser, for one group on its own machine. Needs the extra `web`."""
