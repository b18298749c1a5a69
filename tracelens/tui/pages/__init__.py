"""What the views say, as rows of styled text: no terminal."""
