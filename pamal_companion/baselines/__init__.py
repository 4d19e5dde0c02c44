"""Hold what the paper compares with and PaMaL does not use: networks, balancers and a penalty."""
