# SPDX-License-Identifier: Apache-2.0
"""Spack package, built from the source tree that contains it:

    spack repo add packaging/spack
    spack dev-build --source-path . bitbudget@0.1.0
"""
from spack.package import *

try:  # Spack 1.0 and later keep the build systems with the packages.
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:
    pass


class Bitbudget(CMakePackage, CudaPackage):
    """Numerical precision of real-time optical systems: simulator, C library and Python package."""

    license("GPL-3.0-only")  # sources Apache-2.0, linked with GSL, FFTW and CHOLMOD

    version("0.1.0")

    generator("ninja")

    variant("python", default=True, description="Python package: pictures, reports, notebooks")
    variant("mpi", default=False, description="bitbudget-mpi, over StarPU-MPI")

    depends_on("c", type="build")
    depends_on("cmake@3.24:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("hdf5+hl~mpi")
    depends_on("libyaml")
    depends_on("fftw~mpi precision=float,double")
    depends_on("openblas threads=pthreads")
    depends_on("gsl")
    depends_on("suite-sparse")
    depends_on("random123")
    depends_on("xxhash")
    depends_on("jansson")
    depends_on("expat")
    depends_on("zfp")
    depends_on("cfitsio")
    depends_on("starpu+mpi", when="+mpi")
    with when("+python"):
        extends("python@3.11:")
        for package in ("numpy", "h5py", "h5netcdf", "pandas", "xarray", "matplotlib", "jinja2", "pyyaml", "cffi",
                        "scipy", "astropy"):
            depends_on(f"py-{package}", type="run")

    def cmake_args(self):
        return [
            self.define("BB_TESTS", False),
            self.define("BB_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define("BB_MPI", "ON" if self.spec.satisfies("+mpi") else "OFF"),
        ]

    def setup_run_environment(self, env):
        if self.spec.satisfies("+python"):
            env.prepend_path("PYTHONPATH", self.prefix.share.bitbudget.python)
