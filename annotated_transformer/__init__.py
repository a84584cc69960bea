"The model, its training and its use; modules of version 0.2 that have moved are found under their old names."
import sys
from functools import wraps
from importlib import import_module
from importlib.machinery import ModuleSpec

__version__ = "0.2.0"

_MOVED = {
    "data.text": ("files", "data.normalize", "data.words", "data.pairs"),
    "engine.losses": ("train.losses",),
    "engine.parallel": ("inference.parallel",),
    "inference.commands": ("cli.base", "cli.translate", "cli.evaluate"),
    "lessons.attention": ("lab.attention",),
    "train.command_line": ("cli.base", "cli.train"),
    "train.runs": ("train.run",),
}

def _decorated(function):
    "Wrap a command: those of version 0.2 had the plain function as `__wrapped__`."
    @wraps(function)
    def command(*args, **kwargs): return function(*args, **kwargs)
    return command

class _Moved:
    "Finder and loader of modules that have moved."
    @staticmethod
    def find_spec(name, path=None, target=None):
        "Return the specification of a moved module; None for all others."
        old = name.removeprefix(f"{__name__}.")
        moved = old != name and (old in _MOVED or old == "lessons")
        return ModuleSpec(name, _Moved, is_package=old == "lessons") if moved else None

    @staticmethod
    def create_module(spec):
        "Let Python make the module."

    @staticmethod
    def exec_module(module):
        "Hand out the public names of the modules that a module has moved to."
        for new in _MOVED.get(module.__name__.removeprefix(f"{__name__}."), ()):
            source = import_module(f"{__name__}.{new}")
            vars(module).update({name: getattr(source, name) for name in source.__all__})
        if module.__name__.endswith(".commands"):
            module.translate = _decorated(module.translate)
            module.evaluate = _decorated(module.evaluate)

sys.meta_path.append(_Moved)
