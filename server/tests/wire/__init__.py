"""What the scripts beside this folder share: a client's end of RESP, and a server to talk to."""
