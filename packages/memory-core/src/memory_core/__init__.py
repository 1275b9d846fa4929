"""Storage, search, lifecycle and plugins of Butler Memory on PostgreSQL and pgvector."""
