"""Tasks drafted from two releases or two commits: what changed, which tests tell, and a document of it.

No code of a package is run outside a room; a draft is handed over only when its gold passes and nothing else.
"""
