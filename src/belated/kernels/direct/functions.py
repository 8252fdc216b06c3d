"""Make functions for Python of what LLVM reads, and give them what they hold."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from belated.arrays import Ints
from belated.kernels.direct.objects import DATA, FLAGS, INT, KIND, LENGTHS, PLAIN, RANK, TYPE

_FASTCALL = 0x80  # called with an array of arguments and their number


class _Method(ctypes.Structure):
    """How Python knows of a function (``PyMethodDef``)."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Made(NamedTuple):
    """A function that is ready, and what has to live as long as it is called."""

    method: _Method
    engine: Any


# Functions of Python that are called, by what they return and take.
_CALLED = {
    "PyTuple_Size": ("i64", "ptr"),
    "PyTuple_GetItem": ("ptr", "ptr, i64"),
    "PyTuple_SetItem": ("i32", "ptr, i64, ptr"),
    "PyList_Size": ("i64", "ptr"),
    "PyType_GenericAlloc": ("ptr", "ptr, i64"),
    "PyLong_AsLongLong": ("i64", "ptr"),
    "PyLong_FromLongLong": ("ptr", "i64"),
    "PyFloat_AsDouble": ("double", "ptr"),
    "PyFloat_FromDouble": ("ptr", "double"),
    "PyErr_Occurred": ("ptr", ""),
    "PyErr_Clear": ("void", ""),
    "Py_IncRef": ("void", "ptr"),
    "Py_DecRef": ("void", "ptr"),
}

# length(object, kind of numbers): of a plain vector of them, else -1. data(object): where an array
# has its numbers. type(object). decline(): None, for Python.
_HELPERS = f"""
define internal i64 @length(ptr %object, i64 %kind) alwaysinline {{
  %type.at = getelementptr i8, ptr %object, i64 {TYPE}
  %type = load i64, ptr %type.at
  %is.array = icmp eq i64 %type, {id(np.ndarray)}
  br i1 %is.array, label %array, label %other
array:
  %kind.at = getelementptr i8, ptr %object, i64 {KIND}
  %its.kind = load i64, ptr %kind.at
  %is.kind = icmp eq i64 %its.kind, %kind
  %rank.at = getelementptr i8, ptr %object, i64 {RANK}
  %rank = load i32, ptr %rank.at
  %is.vector = icmp eq i32 %rank, 1
  %flags.at = getelementptr i8, ptr %object, i64 {FLAGS}
  %flags = load i32, ptr %flags.at
  %its.plain = and i32 %flags, {PLAIN}
  %is.plain = icmp eq i32 %its.plain, {PLAIN}
  %fits = and i1 %is.kind, %is.vector
  %fits.too = and i1 %fits, %is.plain
  br i1 %fits.too, label %plain, label %other
plain:
  %lengths.at = getelementptr i8, ptr %object, i64 {LENGTHS}
  %lengths = load ptr, ptr %lengths.at
  %length = load i64, ptr %lengths
  ret i64 %length
other:
  ret i64 -1
}}

define internal ptr @data(ptr %object) alwaysinline {{
  %data.at = getelementptr i8, ptr %object, i64 {DATA}
  %data = load ptr, ptr %data.at
  ret ptr %data
}}

define internal i64 @type(ptr %object) alwaysinline {{
  %type.at = getelementptr i8, ptr %object, i64 {TYPE}
  %type = load i64, ptr %type.at
  ret i64 %type
}}

define internal ptr @decline() alwaysinline {{
  %none = inttoptr i64 {id(None)} to ptr
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}}
"""


def _declared() -> str:
    """Return how Python's functions are called, each at its address."""
    parts = []
    for name, (result, kinds) in _CALLED.items():
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        given = ", ".join(f"{kind} %{i}" for i, kind in enumerate(kinds.split(", ")) if kind)
        kept, answer = ("", "void") if result == "void" else ("%found = ", f"{result} %found")
        parts.append(
            f"define internal {result} @{name}({given}) alwaysinline {{\n"
            f"  {kept}call {result} inttoptr (i64 {address} to ptr)({given})\n"
            f"  ret {answer}\n}}\n"
        )
    return "".join(parts)


def made(name: str, source: str) -> Made:
    """Return the function of that name, of its source: (held, arguments, their number) -> object.

    What it holds is a tuple that begins with an array of ints, which is for the function alone.
    """
    module = llvm.parse_assembly(_declared() + _HELPERS + source)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2, jit=True)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(2))
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    address = engine.get_function_address(name)
    return Made(_Method(name.encode(), address, _FASTCALL, None), engine)


# (method, what it holds, module): an object that Python calls.
_Makes = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p
)
_new = _Makes(("PyCFunction_NewEx", ctypes.pythonapi))


def bound(function: Made, words: Ints, *held: Any) -> Callable[..., Any]:
    """Return the function with what it holds: words, and whatever these point into."""
    if words.dtype is not INT or not words.flags.carray:
        raise TypeError(f"words are plain ints, got {words!r}")
    answer: Callable[..., Any] = _new(ctypes.byref(function.method), (words, *held), None)
    return answer
