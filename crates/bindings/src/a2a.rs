//! A2A, bound to 0.3.0.

pub(super) const TABLE: &str = "
mode a2a_server server = agent_card task_responses
responses task_responses = message/send message/stream
mode a2a_client client = actions

every <             = code message data:*

# `type` is what parts called their `kind` before 0.2, and what peers still send.
type Part           = kind type text file:File data:* metadata:*
type File           = name mimeType bytes uri
type Message        = kind messageId role parts[]:Part contextId taskId referenceTaskIds[] extensions[] metadata:*
type Artifact       = artifactId name description parts[]:Part extensions[] metadata:*
type Status         = state message:Message timestamp
type Task           = kind id contextId status:Status history[]:Message artifacts[]:Artifact metadata:*
type StatusUpdate   = kind taskId contextId status:Status final metadata:*
type ArtifactUpdate = kind taskId contextId artifact:Artifact append lastChunk metadata:*

type SendParams     = message:Message configuration:Configuration metadata:*
type Configuration  = acceptedOutputModes[] blocking historyLength pushNotificationConfig:PushConfig
type PushConfig     = id url token authentication:PushAuth
type PushAuth       = schemes[] credentials
type TaskPushConfig = taskId pushNotificationConfig:PushConfig

type Card           = protocolVersion name description version url preferredTransport iconUrl documentationUrl
type Card           = provider:Provider capabilities:Capabilities skills[]:Skill additionalInterfaces[]:Interface
type Card           = defaultInputModes[] defaultOutputModes[] securitySchemes:* security[]:*
type Card           = supportsAuthenticatedExtendedCard signatures[]:Signature
type Provider       = organization url
type Capabilities   = streaming pushNotifications stateTransitionHistory extensions[]:Extension
type Extension      = uri description required params:*
type Interface      = transport url
type Skill          = id name description tags[] examples[] inputModes[] outputModes[] security[]:*
type Signature      = protected signature header:*

client message/send
  > ..SendParams
  < ..Task ..Message
client message/stream
  > ..SendParams
  < ..Task ..Message ..StatusUpdate ..ArtifactUpdate
# One item of a stream, by its `kind`: a name of OATF's own, never sent.
client task/status
  < ..StatusUpdate
client task/artifact
  < ..ArtifactUpdate

client tasks/get
  > id historyLength metadata:*
  < ..Task
# JSON-RPC got this method after 0.3.0; the other transports had it.
client tasks/list
  > contextId status historyLength pageSize pageToken includeArtifacts metadata:*
  < tasks[]:Task nextPageToken pageSize totalSize
client tasks/cancel
  > id metadata:*
  < ..Task
client tasks/resubscribe
  > id metadata:*
  < ..Task ..Message ..StatusUpdate ..ArtifactUpdate
client tasks/pushNotificationConfig/set
  > ..TaskPushConfig metadata:*
  < ..TaskPushConfig
client tasks/pushNotificationConfig/get
  > id pushNotificationConfigId metadata:*
  < ..TaskPushConfig
client tasks/pushNotificationConfig/list
  > id metadata:*
  < []:TaskPushConfig
client tasks/pushNotificationConfig/delete
  > id pushNotificationConfigId metadata:*
  <

# The request is a plain HTTP GET: there is nothing in it to look at.
client agent_card/get
  >
  < ..Card
client agent/getAuthenticatedExtendedCard
  > metadata:*
  < ..Card

# What A2A 1.0 calls them.
alias SendMessage          = message/send
alias SendStreamingMessage = message/stream
alias GetTask              = tasks/get
alias ListTasks            = tasks/list
alias CancelTask           = tasks/cancel
alias SubscribeToTask      = tasks/resubscribe
alias GetAgentCard         = agent_card/get

hint message = message.parts[*].text
# What a call of a tool would have. A message names no skill: what is wanted stands in its text.
hint name = message.parts[*].text
hint arguments = message.parts[*].text
hint arguments.message = message.parts[*].text
hint content = message.parts[*].text
hint content = artifacts[*].parts[*].text
hint content = status.message.parts[*].text
hint content = parts[*].text
";
