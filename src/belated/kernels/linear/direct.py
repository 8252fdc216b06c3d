"""Single events of a linear model, called directly; see ``belated.kernels.direct``.

``predict`` takes a pair of plain arrays, or one array. Callers that hold the turn pass two arrays
and the length of the row. ``observe`` takes a ticket, a label and a weight of the usual types, and
a fourth argument, which is ignored, from callers that hold the turn. If the arguments have other
types, or the entry refuses them, the call returns None and nothing has changed.

The interpreter lock stays held, because releasing it costs more than another thread gains in so
short a time. No other thread can run meanwhile, so it is enough to check the turn.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from belated.arrays import Array, Floats, Ints
from belated.kernels import direct
from belated.kernels.direct.objects import FLOAT, INT
from belated.kernels.slots import status as S

LONGEST = 256
"""Entries of the longest row that is taken."""

# Words that both hold: where the entry is, where arrays are and how long, the list with the turn.
_ENTRY, _ARRAYS, _TURN, _LAST = 0, 1, 9, 10
# The last one says for ``predict`` what its answer is an instance of, and for ``observe`` whether
# it takes any weight; that holds two arrays more.
_WORDS = 11
_NOBODY = 1  # turns that are left when nobody is at work
_NEVER = "0x7FF8000000000000"  # NaN

_POSITIONS: Ints = np.arange(LONGEST, dtype=np.int64)
"""The coordinates of a row that is one array."""

_ARRAY = ("i8*", "i8*", "i64", "i64", "{}*", "i64", "i64")  # as numba passes one on


def _passed(*kinds: str) -> str:
    """Return how numba passes on what entries take: arrays of such kinds, then numbers."""
    parts = [
        part.format(kind.strip("[]"))
        for kind in kinds
        for part in (_ARRAY if kind.startswith("[") else (kind,))
    ]
    return ", ".join(parts)


_STATE = ("[double]", "[i64]", "[i64]", "[double]")
_RAISED = "{i8*, i32, i8*, i8*, i32}**"
_ROW, _TWO, _SAVED = ("[i64]", "[double]", "i64"), ("double",) * 2, ("[double]", "[i64]")
_PREDICT = f"i32 ({{i64, double}}*, {_RAISED}, {_passed(*_STATE, *_ROW, *_TWO)})"
_OBSERVE = f"i32 (i64*, {_RAISED}, {_passed(*_STATE, 'i64', *_TWO, *_SAVED)})"


def _loads(names: str) -> str:
    """Return what reads the words that a function holds, under these names."""
    lines = [
        "  %words.object = call ptr @PyTuple_GetItem(ptr %held, i64 0)",
        "  %words = call ptr @data(ptr %words.object)",
    ]
    for word, name in enumerate(names.split()):
        kind = "i64" if name.endswith("size") or name == "last" else "ptr"
        lines.append(f"  %{name}.at = getelementptr i64, ptr %words, i64 {word}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at")
    return "\n".join(lines)


def _given(*arrays: str) -> str:
    """Return the arguments that arrays become: nobody's memory, lengths, bytes, and where."""
    return ", ".join(
        f"ptr null, ptr null, i64 %{name}.size, i64 8, ptr %{name}, i64 %{name}.size, i64 8"
        for name in arrays
    )


_NAMES = "entry f f.size n n.size c c.size pool pool.size turn last"
_HELD = _loads(_NAMES)
_ALONE = f"""
  %turns = call i64 @PyList_Size(ptr %turn)
  %is.alone = icmp eq i64 %turns, {_NOBODY}"""

_PREDICT_SOURCE = f"""
define ptr @predict(ptr %held, ptr %arguments, i64 %count) {{
{_HELD}
  %answer = alloca {{i64, double}}
  %raised = alloca ptr
{_ALONE}
  %is.one = icmp eq i64 %count, 1
  %may = and i1 %is.alone, %is.one
  br i1 %may, label %begin, label %others
others:
  %is.ours = icmp eq i64 %turns, 0
  %are.three = icmp eq i64 %count, 3
  %may.too = and i1 %is.ours, %are.three
  br i1 %may.too, label %three, label %declined
three:
  %begun.at = getelementptr ptr, ptr %arguments, i64 1
  %length.at = getelementptr ptr, ptr %arguments, i64 2
  %begun.first = load ptr, ptr %arguments
  %begun.second = load ptr, ptr %begun.at
  %length.object = load ptr, ptr %length.at
  %length.type = call i64 @type(ptr %length.object)
  %is.whole = icmp eq i64 %length.type, {id(int)}
  br i1 %is.whole, label %counted, label %declined
counted:
  %length = call i64 @PyLong_AsLongLong(ptr %length.object)
  call void @PyErr_Clear()
  br label %row
begin:
  %features = load ptr, ptr %arguments
  %type = call i64 @type(ptr %features)
  %is.tuple = icmp eq i64 %type, {id(tuple)}
  br i1 %is.tuple, label %tuple, label %vector
tuple:
  %parts = call i64 @PyTuple_Size(ptr %features)
  %is.pair = icmp eq i64 %parts, 2
  br i1 %is.pair, label %pair, label %declined
pair:
  %pair.first = call ptr @PyTuple_GetItem(ptr %features, i64 0)
  %pair.second = call ptr @PyTuple_GetItem(ptr %features, i64 1)
  %pair.places = call i64 @length(ptr %pair.first, i64 {id(INT)})
  %pair.numbers = call i64 @length(ptr %pair.second, i64 {id(FLOAT)})
  %are.alike = icmp eq i64 %pair.places, %pair.numbers
  br i1 %are.alike, label %row, label %declined
vector:
  %entries = call i64 @length(ptr %features, i64 {id(FLOAT)})
  %positions = inttoptr i64 {id(_POSITIONS)} to ptr
  br label %row
row:
  %first = phi ptr [%begun.first, %counted], [%pair.first, %pair], [%positions, %vector]
  %second = phi ptr [%begun.second, %counted], [%pair.second, %pair], [%features, %vector]
  %values.size = phi i64 [%length, %counted], [%pair.numbers, %pair], [%entries, %vector]
  %is.short = icmp ule i64 %values.size, {LONGEST}
  %places = call i64 @length(ptr %first, i64 {id(INT)})
  %numbers = call i64 @length(ptr %second, i64 {id(FLOAT)})
  %has.places = icmp sge i64 %places, %values.size
  %has.numbers = icmp sge i64 %numbers, %values.size
  %has.both.parts = and i1 %has.places, %has.numbers
  %is.row = and i1 %is.short, %has.both.parts
  br i1 %is.row, label %called, label %declined
called:
  %indices = call ptr @data(ptr %first)
  %values = call ptr @data(ptr %second)
  %indices.size = add i64 %values.size, 0
  %failed = call i32 %entry(ptr %answer, ptr %raised, {_given("f", "n", "c", "pool")},
    {_given("indices", "values")}, i64 %values.size, double {_NEVER}, double {_NEVER})
  %is.through = icmp eq i32 %failed, 0
  %ticket = load i64, ptr %answer
  %value.at = getelementptr {{i64, double}}, ptr %answer, i32 0, i32 1
  %value = load double, ptr %value.at
  %is.ticket = icmp sge i64 %ticket, 0
  %is.good = and i1 %is.through, %is.ticket
  br i1 %is.good, label %good, label %declined
good:
  %kind = inttoptr i64 %last to ptr
  %forecast = call ptr @PyType_GenericAlloc(ptr %kind, i64 2)
  %is.there = icmp ne ptr %forecast, null
  br i1 %is.there, label %filled, label %full
filled:
  %ticket.object = call ptr @PyLong_FromLongLong(i64 %ticket)
  %value.object = call ptr @PyFloat_FromDouble(double %value)
  %set.ticket = call i32 @PyTuple_SetItem(ptr %forecast, i64 0, ptr %ticket.object)
  %set.value = call i32 @PyTuple_SetItem(ptr %forecast, i64 1, ptr %value.object)
  %has.ticket = icmp ne ptr %ticket.object, null
  %has.value = icmp ne ptr %value.object, null
  %has.both = and i1 %has.ticket, %has.value
  br i1 %has.both, label %done, label %empty
done:
  ret ptr %forecast
empty:
  call void @Py_DecRef(ptr %forecast)
  br label %full
full:
  ret ptr null
declined:
  %none = call ptr @decline()
  ret ptr %none
}}
"""


_OBSERVE_SOURCE = f"""
define ptr @observe(ptr %held, ptr %arguments, i64 %count) {{
{_loads(f"{_NAMES} saved saved.size marks marks.size")}
  %answer = alloca i64
  %raised = alloca ptr
{_ALONE}
  %are.three = icmp eq i64 %count, 3
  %are.four = icmp eq i64 %count, 4
  %is.ours = icmp eq i64 %turns, 0
  %may.alone = and i1 %is.alone, %are.three
  %may.too = and i1 %is.ours, %are.four
  %may = or i1 %may.alone, %may.too
  br i1 %may, label %begin, label %declined
begin:
  %label.at = getelementptr ptr, ptr %arguments, i64 1
  %weight.at = getelementptr ptr, ptr %arguments, i64 2
  %ticket.object = load ptr, ptr %arguments
  %label.object = load ptr, ptr %label.at
  %weight.object = load ptr, ptr %weight.at
  %ticket.type = call i64 @type(ptr %ticket.object)
  %label.type = call i64 @type(ptr %label.object)
  %weight.type = call i64 @type(ptr %weight.object)
  %is.int = icmp eq i64 %ticket.type, {id(int)}
  %is.float = icmp eq i64 %label.type, {id(float)}
  %is.of.numpy = icmp eq i64 %label.type, {id(np.float64)}
  %is.whole = icmp eq i64 %label.type, {id(int)}
  %is.either = or i1 %is.float, %is.of.numpy
  %is.label = or i1 %is.either, %is.whole
  %is.weight = icmp eq i64 %weight.type, {id(float)}
  %are.numbers = and i1 %is.label, %is.weight
  %are.known = and i1 %is.int, %are.numbers
  br i1 %are.known, label %known, label %declined
known:
  %weight = call double @PyFloat_AsDouble(ptr %weight.object)
  %is.usual = fcmp oeq double %weight, 1.0
  %takes.any = icmp ne i64 %last, 0
  %is.taken = or i1 %is.usual, %takes.any
  br i1 %is.taken, label %number, label %declined
number:
  %label = call double @PyFloat_AsDouble(ptr %label.object)
  %ticket = call i64 @PyLong_AsLongLong(ptr %ticket.object)
  %trouble = call ptr @PyErr_Occurred()
  %no.trouble = icmp eq ptr %trouble, null
  %is.counted = icmp sge i64 %ticket, 0
  %may.be.ticket = and i1 %no.trouble, %is.counted
  br i1 %may.be.ticket, label %called, label %large
large:
  call void @PyErr_Clear()
  br label %declined
called:
  %failed = call i32 %entry(ptr %answer, ptr %raised, {_given("f", "n", "c", "pool")},
    i64 %ticket, double %label, double %weight, {_given("saved", "marks")})
  %is.through = icmp eq i32 %failed, 0
  %status = load i64, ptr %answer
  %is.heard = icmp sge i64 %status, 0
  %is.good = and i1 %is.through, %is.heard
  br i1 %is.good, label %good, label %declined
good:
  %is.used = icmp eq i64 %status, {S.USED}
  %which = select i1 %is.used, i64 {id(True)}, i64 {id(False)}
  %object = inttoptr i64 %which to ptr
  call void @Py_IncRef(ptr %object)
  ret ptr %object
declined:
  %none = call ptr @decline()
  ret ptr %none
}}
"""


@functools.cache
def _made(name: str, source: str) -> direct.Made:
    return direct.made(name, source)


@functools.cache
def _address(entry: Any, kind: str) -> int | None:
    """Return where numba has put an entry, if that is called as expected."""
    (compiled,) = entry.overloads.values()
    types = compiled.signature
    called = compiled.target_context.call_conv.get_function_type(types.return_type, types.args)
    if str(called) != kind:
        return None
    address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return address


def _words(
    address: int, arrays: tuple[Array, ...], turn: list[None], last: int, *more: Array
) -> Ints:
    words = np.zeros(_WORDS + 2 * len(more), dtype=np.int64)
    words[_ENTRY] = address
    for i, array in enumerate(arrays):
        words[_ARRAYS + 2 * i : _ARRAYS + 2 * i + 2] = array.ctypes.data, array.size
    words[_TURN], words[_LAST] = id(turn), last
    for i, array in enumerate(more):
        words[_WORDS + 2 * i : _WORDS + 2 * i + 2] = array.ctypes.data, array.size
    return words


def predict(
    entry: Any,
    arrays: tuple[Floats, Ints, Ints, Floats],
    turn: list[None],
    forecast: type[tuple[Any, ...]],
) -> Callable[..., Any] | None:
    """Return what takes features to a forecast, or to None; None where there is no such thing."""
    if not direct.IS_KNOWN:
        return None
    address = _address(entry, _PREDICT)
    if address is None:
        return None
    words = _words(address, arrays, turn, id(forecast))
    return direct.bound(_made("predict", _PREDICT_SOURCE), words, arrays, turn, forecast, entry)


def observe(
    entry: Any,
    arrays: tuple[Floats, Ints, Ints, Floats],
    saved: tuple[Floats, Ints],
    turn: list[None],
    *,
    takes_weights: bool,
) -> Callable[..., bool | None] | None:
    """Return what takes (ticket, label, weight) to whether it was used, or to None.

    ``entry`` is the one that keeps in ``saved`` what takes the answer back.
    """
    if not direct.IS_KNOWN:
        return None
    address = _address(entry, _OBSERVE)
    if address is None:
        return None
    words = _words(address, arrays, turn, int(takes_weights), *saved)
    return direct.bound(_made("observe", _OBSERVE_SOURCE), words, arrays, saved, turn, entry)
