"""The configuration: every setting with its default, as `[modules.memory]` of a `butler.toml` spells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from memory_core.cron_lines import parse_cron_line
from memory_core.scoring import ScoreWeights
from memory_core.validation import MAX_COUNT, MAX_DAYS

Unit = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A part of the configuration; keys that it does not know are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _is_no_truth_value(cls, value: Any, info: ValidationInfo) -> Any:
        # `max_entries = true` would otherwise be read as 1, and all but one episode deleted.
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation in (int, float):
            raise ValueError("Input should be a number")
        return value


class EpisodesConfig(Section):
    """How long episodes are kept."""

    default_ttl_days: float = Field(default=7, gt=0, le=MAX_DAYS, description="Days until a new episode expires.")
    max_entries: int = Field(
        default=10_000, ge=0, le=MAX_COUNT, description="Episodes that the cleanup keeps per tenant."
    )
    grace_days: float = Field(
        default=0, ge=0, le=MAX_DAYS, description="Days that an expired episode is kept while not consolidated."
    )


class FactsConfig(Section):
    """When facts and rules fade and end."""

    retrieval_confidence_threshold: Unit = Field(
        default=0.2, description="Below this effective confidence a memory fades."
    )
    expiry_confidence_threshold: Unit = Field(default=0.05, description="Below this effective confidence it ends.")

    @model_validator(mode="after")
    def _fades_before_it_ends(self) -> FactsConfig:
        if self.expiry_confidence_threshold > self.retrieval_confidence_threshold:
            raise ValueError("expiry_confidence_threshold must not be above retrieval_confidence_threshold")
        return self


class EstablishedPromotion(Section):
    """What a candidate rule must show to become established."""

    min_successes: int = Field(default=5, ge=0, description="Helpful marks at least.")
    min_effectiveness: Unit = Field(default=0.6, description="Effectiveness at least.")


class ProvenPromotion(Section):
    """What an established rule must show to become proven."""

    min_successes: int = Field(default=15, ge=0, description="Helpful marks at least.")
    min_effectiveness: Unit = Field(default=0.8, description="Effectiveness at least.")
    min_age_days: float = Field(default=30, ge=0, description="Days since it was stored at least.")


class AntiPatternInversion(Section):
    """When a harmful rule is turned into a warning."""

    min_harmful: int = Field(default=3, ge=1, description="Harmful marks at least.")
    max_effectiveness: Unit = Field(default=0.3, description="Its effectiveness is below this.")


class RulesConfig(Section):
    """How rules mature."""

    promote_to_established: EstablishedPromotion = EstablishedPromotion()
    promote_to_proven: ProvenPromotion = ProvenPromotion()
    harmful_to_antipattern: AntiPatternInversion = AntiPatternInversion()


class ScoreWeightsConfig(Section):
    """How much each component of a recall's score counts."""

    relevance: float = Field(default=0.4, ge=0, description="How well it matches the topic.")
    importance: float = Field(default=0.3, ge=0, description="The importance it was stored with.")
    recency: float = Field(default=0.2, ge=0, description="How lately it was last used.")
    confidence: float = Field(default=0.1, ge=0, description="What decay has left of its confidence.")

    def weights(self) -> ScoreWeights:
        """Return the weights as the scorer takes them."""
        return ScoreWeights(self.relevance, self.importance, self.recency, self.confidence)


class ContextQuotas(Section):
    """Which share of the context block each section may take; what one leaves, the next may use."""

    facts: Unit = Field(default=0.6, description="Share of the facts.")
    rules: Unit = Field(default=0.3, description="Share of the rules.")
    episodes: Unit = Field(default=0.1, description="Share of the recent episodes, where they are shown.")


class RetrievalConfig(Section):
    """How memories are found."""

    default_limit: int = Field(default=20, ge=1, le=1000, description="Results of a recall that names no limit.")
    default_mode: Literal["semantic", "keyword", "hybrid"] = Field(
        default="hybrid", description="How a search that names no mode finds memories."
    )
    context_token_budget: int = Field(default=3000, ge=0, description="Tokens of a context block that names no budget.")
    score_weights: ScoreWeightsConfig = ScoreWeightsConfig()
    scorer: str = Field(default="composite", description="Which scorer plugin scores recalled memories.")
    reranker: str | None = Field(default=None, description="Which reranker plugin has the last word.")
    context_quotas: ContextQuotas = ContextQuotas()
    context_episodes: bool = Field(
        default=False, description="Whether a context block has a section of recent episodes."
    )


class ScheduleConfig(Section):
    """When the workers run: cron lines in UTC; an empty one turns a worker off. A plugin's worker goes by its name."""

    model_config = ConfigDict(extra="allow")

    consolidate: str = Field(default="0 */6 * * *", description="Turns episodes into facts and rules.")
    decay_sweep: str = Field(default="0 3 * * *", description="Lets memories fade and end.")
    episode_cleanup: str = Field(default="0 4 * * *", description="Deletes episodes that are over.")
    index_maintenance: str = Field(default="30 4 * * *", description="Keeps the vector indexes fit for their size.")

    __pydantic_extra__: dict[str, str] = Field(init=False)

    @model_validator(mode="after")
    def _comes_due(self) -> ScheduleConfig:
        for worker, line in self.model_dump().items():
            parse_cron_line(line, worker)
        return self

    @property
    def of_plugins(self) -> Mapping[str, str]:
        """The cron lines of workers that plugins bring, by provider name."""
        return self.__pydantic_extra__


class ConsolidationConfig(Section):
    """How episodes become facts and rules."""

    spawner: str | None = Field(
        default=None, description="Which spawner plugin runs the language model; none: dry runs only."
    )
    batch_size: int = Field(default=50, ge=1, le=1000, description="Episodes in one prompt.")
    max_episodes_per_run: int = Field(default=500, ge=1, description="Episodes that one run takes on.")
    max_prompt_chars: int = Field(default=200_000, ge=10_000, description="Characters of one prompt.")
    max_attempts: int = Field(default=5, ge=1, description="Failed attempts until an episode is a dead letter.")
    lease_seconds: float = Field(default=300, gt=0, description="How long a claim holds unless it is renewed.")
    time_limit_seconds: float = Field(default=900, gt=0, description="How long one run of the model may take.")


class ToolsConfig(Section):
    """Which tools are served."""

    sets: list[str] = Field(default=["core", "entities", "consolidation"], description="Tool sets, by provider name.")
    exclude: list[str] = Field(default=[], description="Single tools to leave out.")


class ServeConfig(Section):
    """How the servers answer: `memory-mcp` on stdio and `memory serve` over HTTP."""

    host: str = Field(default="127.0.0.1", min_length=1, description="The address that `memory serve` listens on.")
    port: int = Field(default=8765, ge=0, le=65535, description="Its port; 0 takes any that is free.")
    require_token: bool = Field(
        default=False, description="Whether a token is needed on a loopback address too; elsewhere it always is."
    )
    token_file: str | None = Field(
        default=None, description="Where the hashes of tokens are kept; by default beside the embedded server's data."
    )
    allowed_hosts: list[str] = Field(
        default=[], description="Host headers that are answered, such as 'memory.example.org:*', besides its own."
    )
    allowed_origins: list[str] = Field(
        default=[], description="Origin headers of web pages that are answered, such as 'https://example.org'."
    )
    max_body_bytes: int = Field(default=4_194_304, ge=1024, description="Bytes of a request at most.")
    # Clients take 1 MiB in one event by default, and an answer travels twice: as text and as structure.
    max_result_bytes: int = Field(default=400_000, ge=1024, description="Bytes of an answer at most.")
    start_wait_seconds: float = Field(
        default=30, gt=0, description="How long a call waits for the database while it starts."
    )
    call_timeout_seconds: float = Field(
        default=120, gt=0, description="How long a call may take; consolidation has a limit of its own."
    )
    workers: bool = Field(default=True, description="Whether the servers run the workers on their schedule.")


class SpoolConfig(Section):
    """Where episodes wait while the database is away."""

    directory: str | None = Field(default=None, description="Their place; by default beside the embedded server.")
    max_bytes: int = Field(default=67_108_864, ge=0, description="Bytes that may wait; 0 turns the spool off.")


class MemoryModuleConfig(Section):
    """Everything that can be set; each field has a default that suits one agent on a laptop."""

    model_config = ConfigDict(populate_by_name=True)

    enabled: bool = Field(default=True, description="Whether a host loads the module.")
    dsn: str | None = Field(default=None, description="Your own PostgreSQL; without it the embedded server is used.")
    data_dir: str | None = Field(default=None, description="Where the embedded server keeps its data.")
    schema_name: str | None = Field(
        default=None,
        alias="schema",
        pattern=r"^[a-z_][a-z0-9_]{0,62}$",
        description="The PostgreSQL schema that holds the tables; made if it is missing.",
    )
    pooler: bool = Field(default=False, description="Whether the DSN leads through a transaction pooler.")
    pool_max_size: int = Field(default=10, ge=1, le=1000, description="Connections at most.")
    tenant_id: str = Field(default="default", min_length=1, description="The tenant of calls that carry no other.")
    embedding_backend: str = Field(default="onnx", description="Which embedding plugin makes the vectors.")
    embedding_model: str = Field(
        default="all-MiniLM-L6-v2", description="The model that the backend must have; checked at the start if set."
    )
    embedding_dimensions: int = Field(
        default=384,
        ge=1,
        le=2000,
        description="The dimensions that its vectors must have; checked at the start if set.",
    )
    episodes: EpisodesConfig = EpisodesConfig()
    facts: FactsConfig = FactsConfig()
    rules: RulesConfig = RulesConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    consolidation: ConsolidationConfig = ConsolidationConfig()
    tools: ToolsConfig = ToolsConfig()
    serve: ServeConfig = ServeConfig()
    spool: SpoolConfig = SpoolConfig()
    plugins: dict[str, dict[str, Any]] = Field(default={}, description="Options of plugins, by provider name.")
