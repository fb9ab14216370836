"""What client, portal and node agent agree on: what work asks for, sessions' frames, the size of elastic work."""
