"""Tools for those who write entries: skeletons, statistics, differences, generated tables."""
