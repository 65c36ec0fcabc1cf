"""Functions that kernels alone call: compiled as far as a kernel needs to link them in, and no further.

Numba makes each function that it compiles ready to run: it optimizes it with all that it calls, and turns it
into machine code. Of a function that is only ever linked into others, which are then optimized as a whole,
that is waste: about half of the time of compiling Mondrian's kernel.

This reaches into numba, so it is done only with versions that it was tried with; with others functions are
compiled as numba does it, which takes longer and gives the same.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

TRIED = ("0.68.",)  # versions of numba


def linking() -> dict[str, Any]:
    """How numba is told to compile a function that kernels alone call."""
    return {"pipeline_class": LinkedCompiler} if numba.__version__.startswith(TRIED) else {}


class LinkedLibrary(JITCodeLibrary):
    """The code of a function and of all that it calls, for others to link."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Not one by one: the kernel optimizes them with all others."""
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Link what is called; leave optimizing and machine code to the kernel."""
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]
class LinkedLowering(NativeLowering):
    """Lowering into a library that is linked; nothing can be run, so there is nothing to point to."""

    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        context = state.targetctx
        library = context.codegen().create_library(state.func_id.func_qualname)
        library.__class__ = LinkedLibrary
        state.library = library

        def key_of(*_: Any) -> object:
            library._ensure_finalized()
            return object()  # callers find the function by it

        context.get_executable = key_of
        try:
            return bool(super().run_pass(state))  # type: ignore[no-untyped-call]
        finally:
            del context.get_executable


class LinkedCompiler(CompilerBase):
    """Numba's usual passes, but for the last."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)  # type: ignore[no-untyped-call]
        passes.add_pass_after(LinkedLowering, NativeLowering)
        passes.passes = [each for each in passes.passes if each[0] is not NativeLowering]
        passes.finalize()
        return [passes]
