"""Who asks: the tenant and the request that a call belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memory_core.errors import InvalidInputError, TenantMismatchError
from memory_core.text import clean_name

DEFAULT_TENANT = "default"


@dataclass(frozen=True)
class Caller:
    """The tenant whose data a call may touch, and what its events are to remember of the request."""

    tenant_id: str = DEFAULT_TENANT
    request_id: str | None = None
    actor: str | None = None

    @classmethod
    def of(cls, tenant_id: str, request_context: Mapping[str, Any] | None = None) -> Caller:
        """Read the caller from a tenant and an optional request context.

        Raises:
            TenantMismatchError: the request context names another tenant.
            InvalidInputError: a value is not a short text.
        """
        context = request_context or {}
        if not isinstance(context, Mapping):
            raise InvalidInputError(f"request_context {str(context)[:60]!r} is not an object; pass key-value pairs")
        tenant = parse_tenant(tenant_id)
        claimed = context.get("tenant_id")
        if claimed is not None and claimed != tenant:
            raise TenantMismatchError(
                f"request_context names tenant {claimed!r}, but the caller is authenticated for {tenant!r}; "
                "leave the tenant out, or authenticate as that tenant"
            )
        return cls(tenant, _optional_text(context, "request_id"), _optional_text(context, "actor"))


def parse_tenant(tenant_id: str) -> str:
    """Return a tenant's id, which is taken as it is: two that differ only in white space must not become one.

    Raises:
        InvalidInputError: it is not one short line of text.
    """
    tenant = clean_name(tenant_id, "tenant_id")
    if tenant != tenant_id:
        raise InvalidInputError(
            f"tenant_id {tenant_id!r} has white space or NUL bytes that would not be kept; use {tenant!r}"
        )
    return tenant


def _optional_text(context: Mapping[str, Any], key: str) -> str | None:
    value = context.get(key)
    return None if value is None else clean_name(str(value), f"request_context.{key}")
