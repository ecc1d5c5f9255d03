//! MCP, bound to 2025-11-25; earlier revisions and 2026-07-28 are included, since documents may speak them.

pub(super) const TABLE: &str = "
mode mcp_server server = protocol_version server_info instructions capabilities
mode mcp_server server = tools resources resource_templates prompts elicitations
responses tools.responses       = tools/call
responses prompts.responses     = prompts/get
mode mcp_client client = client_info capabilities actions sampling_responses elicitation_responses roots
responses sampling_responses    = sampling/createMessage
responses elicitation_responses = elicitation/create

# What every message may carry. `task` asks for a task instead of a result (2025-11-25); the input fields
# belong to the multi-round-trip requests of 2026-07-28, as do result types and cache hints.
type Params         = _meta:*
type TaskParams     = ..Params task:TaskMetadata
type InputParams    = ..TaskParams inputResponses:* requestState
type PageParams     = ..Params cursor
type Result         = _meta:* resultType
type InputResult    = ..Result inputRequests:* requestState
type CacheResult    = ..Result ttlMs cacheScope
type PageResult     = ..CacheResult nextCursor
every <             = code message data:*

type Icon           = src mimeType sizes[] sizes theme
type Implementation = name title version description websiteUrl icons[]:Icon
type Annotations    = audience[] priority lastModified

type Tool           = name title description icons[]:Icon inputSchema:* outputSchema:* _meta:*
type Tool           = annotations:ToolHints execution:ToolExecution
type ToolHints      = title readOnlyHint destructiveHint idempotentHint openWorldHint
type ToolExecution  = taskSupport

type Resource       = uri name title description mimeType size icons[]:Icon annotations:Annotations _meta:*
type Template       = uriTemplate name title description mimeType icons[]:Icon annotations:Annotations _meta:*
type Contents       = uri mimeType text blob _meta:*

type Prompt         = name title description icons[]:Icon arguments[]:PromptArgument _meta:*
type PromptArgument = name title description required
type PromptMessage  = role content:Block

# Text, image, audio, resource link and embedded resource; in sampling also tool use and its result.
type Block          = type text data mimeType annotations:Annotations resource:Contents _meta:*
type Block          = uri name title description size icons[]:Icon
type SamplingBlock  = ..Block id input:* toolUseId content[]:Block structuredContent:* isError
type SamplingTurn   = role content:SamplingBlock content[]:SamplingBlock _meta:*

type CallResult     = ..InputResult content[]:Block structuredContent:* isError
type SampleResult   = ..Result ..SamplingTurn model stopReason
type ElicitResult   = ..Result action content:*

type TaskMetadata   = ttl
type Task           = taskId status statusMessage createdAt lastUpdatedAt ttl pollInterval
type CreatedTask    = task:Task

client initialize
  > ..Params protocolVersion capabilities:* clientInfo:Implementation
  < ..Result protocolVersion capabilities:* serverInfo:Implementation instructions
client notifications/initialized
  > ..Params
# An address of `x-sortie.fetch` that somebody fetches: a name of ours, and a plain HTTP GET.
client fetch
  > url
# 2026-07-28 in place of the handshake.
client server/discover
  > ..Params
  < ..CacheResult supportedVersions[] capabilities:* instructions
either ping
  > ..Params
  < ..Result

client tools/list
  > ..PageParams
  < ..PageResult tools[]:Tool
client tools/call
  > ..InputParams name arguments:*
  < ..CallResult ..CreatedTask
client resources/list
  > ..PageParams
  < ..PageResult resources[]:Resource
client resources/templates/list
  > ..PageParams
  < ..PageResult resourceTemplates[]:Template
client resources/read
  > ..InputParams uri
  < ..InputResult ..CacheResult contents[]:Contents
client resources/subscribe
  > ..Params uri
  < ..Result
client resources/unsubscribe
  > ..Params uri
  < ..Result
client prompts/list
  > ..PageParams
  < ..PageResult prompts[]:Prompt
client prompts/get
  > ..InputParams name arguments:*
  < ..InputResult description messages[]:PromptMessage
client completion/complete
  > ..Params ref:Reference argument:Argument context:Context
  < ..Result completion:Completion
type Reference      = type uri name title
type Argument       = name value
type Context        = arguments:*
type Completion     = values[] total hasMore
client logging/setLevel
  > ..Params level
  < ..Result
client subscriptions/listen
  > ..Params notifications:Subscriptions
  < ..Result
type Subscriptions  = toolsListChanged promptsListChanged resourcesListChanged resourceSubscriptions[]

server sampling/createMessage
  > ..TaskParams messages[]:SamplingTurn systemPrompt includeContext temperature maxTokens
  > stopSequences[] metadata:* modelPreferences:Preferences tools[]:Tool toolChoice:ToolChoice
  < ..SampleResult ..CreatedTask
type Preferences    = hints[]:ModelHint costPriority speedPriority intelligencePriority
type ModelHint      = name
type ToolChoice     = mode
server elicitation/create
  > ..TaskParams mode message requestedSchema:* elicitationId url
  < ..ElicitResult ..CreatedTask
server roots/list
  > ..Params
  < ..Result roots[]:Root
type Root           = uri name _meta:*

# Either side may run tasks for the other. The payload of a finished one is the result it stands for.
either tasks/get
  > ..Params taskId
  < ..Result ..Task
either tasks/result
  > ..Params taskId
  < ..CallResult ..SampleResult ..ElicitResult
either tasks/list
  > ..PageParams
  < ..PageResult tasks[]:Task
either tasks/cancel
  > ..Params taskId
  < ..Result ..Task
either notifications/tasks/status
  > ..Params ..Task

either notifications/cancelled
  > ..Params requestId reason
either notifications/progress
  > ..Params progressToken progress total message
client notifications/roots/list_changed
  > ..Params
server notifications/message
  > ..Params level logger data:*
server notifications/tools/list_changed
  > ..Params
server notifications/resources/list_changed
  > ..Params
server notifications/resources/updated
  > ..Params uri
server notifications/prompts/list_changed
  > ..Params
server notifications/elicitation/complete
  > ..Params elicitationId
server notifications/subscriptions/acknowledged
  > ..Params notifications:Subscriptions

hint content = content[*].text
";
