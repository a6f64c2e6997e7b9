typedef int bb_empty;
