"""Names for every slot: which number stands where, one module per array.

A composition is a tuple ``code`` of small ints, which the compiler sees as constants; a state is
two arrays, ``f`` and ``n``. Modules are imported under a capital that says which array it indexes:

===========  =======  ====================================================================
module       as       names the slots of
===========  =======  ====================================================================
``code``     ``C``    ``code``: what a composition is made of
``kinds``    ``K``    values that a slot of ``code`` can have
``floats``   ``F``    ``s.f``: parameters, then scalars of the state
``ints``     ``N``    ``s.n``: parameters, then counters
``own``      ``OWN``  ``s.own``: the region of a base that keeps past points
``table``    ``T``    ``s.table``: what the second word of a ticket's entry can say
``status``   ``S``    nothing: what an event returns
===========  =======  ====================================================================
"""
