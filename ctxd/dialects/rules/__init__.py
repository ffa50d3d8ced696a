"""The laws of the providers, one per file: where a message list may be cut, and what in it is broken.

`session/append` refuses exactly the messages whose violations say `refuse`; everything else is kept
as it came and mended when a request is rendered. A thing is refused only where mending would invent
or lose something that only the host knows.

| rule            | what is broken                                         | mend       | dialects          |
|-----------------|--------------------------------------------------------|------------|-------------------|
| unansweredCall  | a call without a result, its turn being over           | synthesize | all               |
| orphanResult    | a result whose call nobody made                        | refuse     | all               |
| orphanResult    | a result that came after another assistant message     | refuse     | all               |
| duplicateResult | a second result of one call, the same as the first     | remove     | all               |
| duplicateResult | a second result of one call, another than the first    | refuse     | all               |
| duplicateCall   | a call id used twice in one message                    | refuse     | all               |
| duplicateCall   | a call id used again in the same turn                  | refuse     | all but chat      |
| duplicateCall   | a call id used again later in the request              | refuse     | anthropic, resp.  |
| resultOrder     | a result behind other content of the turn that answers | merge      | all               |
| emptyContent    | blank text block, blank message, empty list            | remove     | all               |
| blockRole       | calls or thinking outside the assistant's, results in  | refuse     | anthropic, gemini |
|                 | one, anything but text in a system message             |            |                   |
| systemPlacement | a system message not at the end of a user turn         | merge      | anthropic         |
| systemPlacement | the same, with no user message in that turn            | remove     | anthropic         |
| firstMessage    | the list begins with an assistant message              | synthesize | anthropic, gemini |
| roleAlternation | two messages of one role in a row                      | merge      | gemini            |
| lastThinking    | an assistant turn that ends in thinking                | remove     | anthropic         |
| reasoningBound  | reasoning without the item it led to                   | remove     | responses         |
| toolLoop        | nothing (it only says where not to cut)                |            | all but gemini    |

Unanswered calls of the newest assistant message with nothing behind them but results are *pending*
and no violation (reports A.9). What `view` can't read at all is a `BadShape` and refused as well.

Signed blocks are nobody's law here, since no list can show that one was edited: codecs hand them back as
the objects they are. Gemini's calls carry theirs step by step, so its loops may be cut between any two.

`Dialect.mend` mends the refused kinds too (imports and `context/validate` need it): orphans, second
results and second calls are left out, the first is kept; a result that came late is moved to its call.
"""
