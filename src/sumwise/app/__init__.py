"""The local web app behind ``sumwise serve``: files in, their reading checked, fits run, reports out."""
