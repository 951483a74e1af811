let padded block = block
