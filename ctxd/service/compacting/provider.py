"""A provider as a writer of summaries: its answers and failures in the service's own terms."""

from __future__ import annotations

from ctxd.compaction.sampling import trouble_of
from ctxd.dialects.overflow import ProviderError
from ctxd.model.settings import SummarizerOptions
from ctxd.service.host import SampleFailed, SampleReply, SampleRequest
from ctxd.summarizers.provider import ProviderOptions, Refused, ask


class ProviderSummarizer:
    """Asks the model that options name."""

    def __init__(self, options: SummarizerOptions) -> None:
        self._options = ProviderOptions(
            provider=options.provider,
            model=options.model,
            base_url=options.base_url,
            key_variable=options.api_key_env,
            key=options.api_key,
        )

    async def sample(self, request: SampleRequest, within: float) -> SampleReply:
        """One request. Raises SampleFailed."""
        user = "\n\n".join(text for _, text in request.messages)
        try:
            answer = await ask(self._options, request.system, user, request.max_tokens, within)
        except Refused as refused:
            trouble, limit = refused.trouble, 0
            if refused.answered:
                trouble, limit = trouble_of(ProviderError(status=refused.status, body=refused.body))
            raise SampleFailed(trouble, "the provider did not answer", limit) from refused
        return SampleReply(text=answer.text, model=answer.model, usage=answer.usage, is_text=answer.is_text)
