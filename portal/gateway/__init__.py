"""The gateway: carries a browser to the web pages of work, over the connections that the node's agent opened."""
