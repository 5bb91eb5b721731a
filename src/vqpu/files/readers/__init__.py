"""Folders of images, arrays and tables as samples, PU labels and names, in bounded memory."""
