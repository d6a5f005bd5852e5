"""The verb `check`: is a cell of the grid sane before it is trained?"""
