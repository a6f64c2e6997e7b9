#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the result table of a file: read_results.py outputs/study.h5"""
import sys
import xarray as xr

results = xr.open_dataset(sys.argv[1])
print(results.drop_dims(set(results.dims) - {"pipeline"}).to_dataframe().T.to_string())
