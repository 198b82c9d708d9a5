"""`warmline top`: a service while it runs, in the terminal."""
