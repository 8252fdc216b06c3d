"""Names for every slot: which number stands where, one module per array.

===========  =======  ====================================================================
module       as       names the slots of
===========  =======  ====================================================================
``code``     ``C``    ``code``: what leaves of tickets choose by
``ints``     ``N``    ``s.n``: parameters, then counters
``table``    ``T``    ``s.table``: what the second word of a ticket's entry can say
``status``   ``S``    nothing: what an event returns
===========  =======  ====================================================================
"""
