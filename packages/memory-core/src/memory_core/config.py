"""The configuration: every setting with its default, as `[modules.memory]` of a `butler.toml` spells it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from memory_core.scoring import ScoreWeights

Unit = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A part of the configuration; keys that it does not know are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EpisodesConfig(Section):
    """How long episodes are kept."""

    default_ttl_days: float = Field(default=7, gt=0, description="Days until a new episode expires.")
    max_entries: int = Field(default=10_000, ge=0, description="Episodes that the cleanup keeps per tenant.")
    grace_days: float = Field(
        default=0, ge=0, description="Days that an expired episode is kept while not consolidated."
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

    min_successes: int = Field(default=5, ge=0)
    min_effectiveness: Unit = 0.6


class ProvenPromotion(Section):
    """What an established rule must show to become proven."""

    min_successes: int = Field(default=15, ge=0)
    min_effectiveness: Unit = 0.8
    min_age_days: float = Field(default=30, ge=0)


class AntiPatternInversion(Section):
    """When a harmful rule is turned into a warning."""

    min_harmful: int = Field(default=3, ge=1)
    max_effectiveness: Unit = 0.3


class RulesConfig(Section):
    """How rules mature."""

    promote_to_established: EstablishedPromotion = EstablishedPromotion()
    promote_to_proven: ProvenPromotion = ProvenPromotion()
    harmful_to_antipattern: AntiPatternInversion = AntiPatternInversion()


class ScoreWeightsConfig(Section):
    """How much each component of a recall's score counts."""

    relevance: float = Field(default=0.4, ge=0)
    importance: float = Field(default=0.3, ge=0)
    recency: float = Field(default=0.2, ge=0)
    confidence: float = Field(default=0.1, ge=0)

    def weights(self) -> ScoreWeights:
        """Return the weights as the scorer takes them."""
        return ScoreWeights(self.relevance, self.importance, self.recency, self.confidence)


class ContextQuotas(Section):
    """Which share of the context block each section may take; what one leaves, the next may use."""

    facts: Unit = 0.6
    rules: Unit = 0.3
    episodes: Unit = 0.1


class RetrievalConfig(Section):
    """How memories are found."""

    default_limit: int = Field(default=20, ge=1, le=1000, description="Results of a recall that names no limit.")
    default_mode: Literal["semantic", "keyword", "hybrid"] = "hybrid"
    context_token_budget: int = Field(default=3000, ge=0, description="Tokens of a context block that names no budget.")
    score_weights: ScoreWeightsConfig = ScoreWeightsConfig()
    scorer: str = Field(default="composite", description="Which scorer plugin scores recalled memories.")
    reranker: str | None = Field(default=None, description="Which reranker plugin has the last word.")
    context_quotas: ContextQuotas = ContextQuotas()
    context_episodes: bool = Field(
        default=False, description="Whether a context block has a section of recent episodes."
    )


class ScheduleConfig(Section):
    """When the workers run: cron lines in UTC; an empty one turns a worker off."""

    consolidate: str = "0 */6 * * *"
    decay_sweep: str = "0 3 * * *"
    episode_cleanup: str = "0 4 * * *"
    index_maintenance: str = "30 4 * * *"


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


class ToolsConfig(Section):
    """Which tools are served."""

    sets: list[str] = Field(default=["core", "entities", "consolidation"], description="Tool sets, by provider name.")
    exclude: list[str] = Field(default=[], description="Single tools to leave out.")


class MemoryModuleConfig(Section):
    """Everything that can be set; each field has a default that suits one agent on a laptop."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    enabled: bool = True
    dsn: str | None = Field(default=None, description="Your own PostgreSQL; without it the embedded server is used.")
    data_dir: str | None = Field(default=None, description="Where the embedded server keeps its data.")
    schema_name: str | None = Field(default=None, alias="schema", description="The schema that holds the tables.")
    pooler: bool = Field(default=False, description="Whether the DSN leads through a transaction pooler.")
    pool_max_size: int = Field(default=10, ge=1, le=1000, description="Connections at most.")
    tenant_id: str = Field(default="default", min_length=1, description="The tenant of calls that carry no other.")
    embedding_backend: str = Field(default="onnx", description="Which embedding plugin makes the vectors.")
    embedding_model: str = "all-MiniLM-L6-v2"
    embedding_dimensions: int = Field(default=384, ge=1, le=2000)
    episodes: EpisodesConfig = EpisodesConfig()
    facts: FactsConfig = FactsConfig()
    rules: RulesConfig = RulesConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    consolidation: ConsolidationConfig = ConsolidationConfig()
    tools: ToolsConfig = ToolsConfig()
    plugins: dict[str, dict[str, Any]] = Field(default={}, description="Options of plugins, by provider name.")
