"""Storage, search, lifecycle and plugins of Butler Memory on PostgreSQL and pgvector.

The public names are listed in `__init__.pyi`. Each module is imported when one of its names is first used: a plugin
that needs the error tree does not wait for asyncpg, and a server answers its client sooner.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
