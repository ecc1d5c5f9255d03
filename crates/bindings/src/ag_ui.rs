//! AG-UI: client side only, since its documents play the user's front end.

pub(super) const TABLE: &str = "
# `run_agent_input` is the actor's own POST, and OATF makes it an event.
mode ag_ui_client client own = run_agent_input tool_responses
responses tool_responses = tool_call_start

type Event       = type timestamp rawEvent:* metadata:* subagentRunId

# `content` is text, a list of parts, or (activity messages) any object.
type Message     = id role name content content[]:Part content:* toolCalls[]:ToolCall toolCallId error
type Message     = activityType encryptedValue metadata:* subagentRunId
type Part        = type text source:Source metadata:* mimeType id url data filename
type Source      = type value mimeType
type ToolCall    = id type function:Function encryptedValue metadata:*
type Function    = name arguments
type Tool        = name description parameters:* metadata:*
type Context     = description value
type Resume      = interruptId status payload:* metadata:*
type Input       = threadId runId parentRunId protocolVersion messages[]:Message tools[]:Tool context[]:Context
type Input       = state:* forwardedProps:* resume[]:Resume
type Outcome     = type interrupts[]:Interrupt interruptIds[] pendingToolCallIds[]
type Interrupt   = id reason message toolCallId responseSchema:* expiresAt metadata:* subagentRunId
type Usage       = provider model inputTokens outputTokens totalTokens reasoningTokens cachedInputTokens
type Usage       = cacheWriteInputTokens

client run_agent_input
  > ..Input
client run_started
  < ..Event threadId runId parentRunId protocolVersion input:Input
client run_finished
  < ..Event threadId runId result:* outcome:Outcome usage[]:Usage
client run_error
  < ..Event message code usage[]:Usage
client step_started
  < ..Event stepName
client step_finished
  < ..Event stepName

# Text and arguments come in pieces. What begins with `_` is the joined text, added by the runtime, as is the
# `toolCallName` of the events after the first of a call.
client text_message_start
  < ..Event messageId role name
client text_message_content
  < ..Event messageId delta
client text_message_end
  < ..Event messageId _text
client text_message_chunk
  < ..Event messageId role name delta _text
client tool_call_start
  < ..Event toolCallId toolCallName parentMessageId
client tool_call_args
  < ..Event toolCallId toolCallName delta
client tool_call_end
  < ..Event toolCallId toolCallName _arguments:*
client tool_call_chunk
  < ..Event toolCallId toolCallName parentMessageId delta _arguments:*
# The result is the client's to send. An agent that runs a tool by itself reports it under the same name, so a
# result in the stream can be either's.
client tool_call_result
  > ..Event messageId toolCallId role content content:* error
either tool_call_result
  < ..Event messageId toolCallId role content content:* error

client state_snapshot
  < ..Event snapshot:*
client state_delta
  < ..Event delta[]:*
client messages_snapshot
  < ..Event messages[]:Message
client activity_snapshot
  < ..Event messageId activityType content:* replace
client activity_delta
  < ..Event messageId activityType patch[]:*
client raw
  < ..Event event:* source
client custom
  < ..Event name value:*

client reasoning_start
  < ..Event messageId
client reasoning_message_start
  < ..Event messageId role
client reasoning_message_content
  < ..Event messageId delta
client reasoning_message_end
  < ..Event messageId _text
client reasoning_message_chunk
  < ..Event messageId delta _text
client reasoning_end
  < ..Event messageId
client reasoning_encrypted_value
  < ..Event subtype entityId encryptedValue
# Agents that the agent calls. What one of them says has its `subagentRunId`.
client subagent_started
  < ..Event name description parentSubagentRunId parentToolCallId parentMessageId
client subagent_finished
  < ..Event result:* outcome:Outcome
client subagent_error
  < ..Event message code

# The names reasoning had before.
client thinking_start
  < ..Event title
client thinking_end
  < ..Event
client thinking_text_message_start
  < ..Event
client thinking_text_message_content
  < ..Event delta
client thinking_text_message_end
  < ..Event

hint content         = _text
hint content         = delta
hint content         = messages[*].content
hint text            = _text
hint text            = delta
hint message         = _text
hint message.content = _text
hint message.content = messages[*].content
hint arguments       = _arguments
hint arguments       = delta
";
