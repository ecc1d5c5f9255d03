// An A2A 1.0 agent on the JavaScript SDK (@a2a-js/sdk 1.x), without its compatibility mode: it repeats what it is told.
//
//     server.mjs [--port 0] [--lifetime 600]
//
// The first line on standard output is its URL. It speaks JSON-RPC and knows no method of 0.3. It does what server.py does;
// the first word of a text decides:
//
//     message: …   answers with a message, no task
//     input: …     a task that asks for more input
//     fail: …      a task that fails
//     slow: …      a task that works until it is cancelled, for at most a minute, one status a second
//     anything     submitted, working, one artifact in a chunk for each word, completed

import { randomUUID } from 'node:crypto';
import { bounded, use } from '../installed.mjs';

const { default: express } = await use('express');
const { Role, TaskState } = await use('a2a-js-sdk-1');
const {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  InMemoryPushNotificationStore,
  DefaultPushNotificationSender,
} = await use('a2a-js-sdk-1', './server');
const { agentCardHandler, jsonRpcHandler, UserBuilder } = await use('a2a-js-sdk-1', './server/express');

const option = (name, otherwise) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
};
bounded(option('--lifetime', 600));

const part = (words) => ({ content: { $case: 'text', value: words }, metadata: undefined, filename: '', mediaType: '' });
const text = (words, taskId = '', contextId = '') => ({
  role: Role.ROLE_AGENT,
  messageId: randomUUID(),
  parts: [part(words)],
  taskId,
  contextId,
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
});
const cancelled = new Set();

const echo = {
  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context;
    const said = userMessage.parts.map((part) => (part.content?.$case === 'text' ? part.content.value : '')).join(' ');
    if (said.startsWith('message:')) {
      bus.publish(AgentEvent.message(text(`echo: ${said}`, '', contextId)));
      return bus.finished();
    }
    const status = (state, words) =>
      bus.publish(
        AgentEvent.statusUpdate({
          taskId,
          contextId,
          metadata: undefined,
          status: {
            state,
            timestamp: new Date().toISOString(),
            message: words ? text(words, taskId, contextId) : undefined,
          },
        }),
      );
    if (!context.task)
      bus.publish(
        AgentEvent.task({
          id: taskId,
          contextId,
          status: { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: undefined },
          artifacts: [],
          history: [userMessage],
          metadata: undefined,
        }),
      );
    status(TaskState.TASK_STATE_WORKING, 'working on it');
    if (said.startsWith('input:')) status(TaskState.TASK_STATE_INPUT_REQUIRED, 'what else?');
    else if (said.startsWith('fail:')) status(TaskState.TASK_STATE_FAILED, 'it failed');
    else if (said.startsWith('slow:')) {
      for (let second = 1; second <= 60 && !cancelled.has(taskId); second += 1) {
        await new Promise((resolve) => setTimeout(resolve, 1000));
        if (!cancelled.has(taskId)) status(TaskState.TASK_STATE_WORKING, `second ${second}`);
      }
      status(cancelled.has(taskId) ? TaskState.TASK_STATE_CANCELED : TaskState.TASK_STATE_COMPLETED);
    } else {
      const words = `echo: ${said}`.split(/\s+/);
      words.forEach((word, number) =>
        bus.publish(
          AgentEvent.artifactUpdate({
            taskId,
            contextId,
            append: number > 0,
            lastChunk: number === words.length - 1,
            metadata: undefined,
            artifact: {
              artifactId: 'echo',
              name: 'echo',
              description: '',
              parts: [part(`${word} `)],
              metadata: undefined,
              extensions: [],
            },
          }),
        ),
      );
      status(TaskState.TASK_STATE_COMPLETED, 'done');
    }
    return bus.finished();
  },
  async cancelTask(taskId) {
    cancelled.add(taskId);
  },
};

const app = express();
const listener = app.listen(option('--port', 0), '127.0.0.1', () => {
  const url = `http://127.0.0.1:${listener.address().port}/`;
  const card = {
    name: 'Echo (JavaScript, 1.0)',
    description: 'Repeats what it is told',
    version: '1.0.0',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    capabilities: { streaming: true, pushNotifications: true, extensions: [] },
    skills: [
      {
        id: 'echo',
        name: 'Echo',
        description: 'Repeats a text',
        tags: ['echo'],
        examples: [],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    securitySchemes: {},
    securityRequirements: [],
    signatures: [],
  };
  const configs = new InMemoryPushNotificationStore();
  const sender = new DefaultPushNotificationSender(configs);
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), echo, undefined, configs, sender);
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  console.log(url);
});
