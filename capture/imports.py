"""Takes part in imports that the script makes itself, when it makes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any


class ImportWatch(MetaPathFinder):
    """Finds modules as the other finders do, and exchanges the loader of chosen ones."""

    def __init__(self) -> None:
        sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Take part no further."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return another finder's spec with the loader exchanged, None for modules that are not chosen."""
        if not self.may_choose(fullname):
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (other.find_spec(fullname, path, target) for other in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = self.loader(spec, spec.loader)
        return spec

    def may_choose(self, fullname: str) -> bool:
        """Return whether to look for that module at all."""
        raise NotImplementedError

    def loader(self, spec: ModuleSpec, original: Loader) -> Loader:
        """Return what shall load the module."""
        raise NotImplementedError


class AfterImport(ImportWatch):
    """Calls a function right after the first import of a module in this process, before the script goes on."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name, self._then, self._process = name, then, os.getpid()
        if name in sys.modules:
            then()
        else:
            super().__init__()

    def may_choose(self, fullname: str) -> bool:
        """Return whether it is the module."""
        return fullname == self._name

    def loader(self, spec: ModuleSpec, original: Loader) -> Loader:
        """Return the module's own loader, which calls the function at its end."""
        return _Announcing(original, self._arrived)

    def _arrived(self) -> None:
        self.stop()
        if os.getpid() == self._process:
            self._then()


class _Announcing(Loader):
    """Loads as the original; the module never sees another loader than that."""

    def __init__(self, original: Loader, then: Callable[[], None]) -> None:
        self._original, self._then = original, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._original.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._original
        if module.__spec__ is not None:
            module.__spec__.loader = self._original
        self._original.exec_module(module)
        self._then()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class ImportMarked(ImportWatch):
    """Loads one source file from other code than the file's own, with names of ours in its module."""

    def __init__(self, file: Path, code: Callable[[], CodeType], names: dict[str, Any]) -> None:
        super().__init__()
        self._file, self._code, self._names = file, code, names

    def may_choose(self, fullname: str) -> bool:
        """Return whether the module may lie in the file."""
        return fullname.rpartition(".")[2] in {self._file.stem, self._file.parent.name}

    def loader(self, spec: ModuleSpec, original: Loader) -> Loader:
        """Return the loader of the marked code if the module lies in the file."""
        if spec.origin is None or Path(spec.origin).resolve() != self._file:
            return original
        return _Marked(spec.name, str(self._file), self._code, self._names)


class _Marked(SourceFileLoader):
    def __init__(self, fullname: str, path: str, code: Callable[[], CodeType], names: dict[str, Any]) -> None:
        super().__init__(fullname, path)
        self._marked, self._names = code, names

    def get_code(self, fullname: str) -> CodeType:
        return self._marked()

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._names)
        super().exec_module(module)
