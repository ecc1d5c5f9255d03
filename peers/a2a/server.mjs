// An A2A 0.3 agent on the JavaScript SDK (@a2a-js/sdk): it repeats what it is told.
//
//     server.mjs [--port 0] [--lifetime 600]
//
// The first line on standard output is its URL. It does what server.py does; the first word of a text decides:
//
//     message: …   answers with a message, no task
//     input: …     a task that asks for more input
//     fail: …      a task that fails
//     slow: …      a task that works until it is cancelled, for at most a minute, one status a second
//     anything     submitted, working, one artifact in a chunk for each word, completed

import { randomUUID } from 'node:crypto';
import { bounded, use } from '../installed.mjs';

const { default: express } = await use('express');
const { DefaultRequestHandler, InMemoryTaskStore, InMemoryPushNotificationStore, DefaultPushNotificationSender } =
  await use('@a2a-js/sdk', './server');
const { agentCardHandler, jsonRpcHandler, UserBuilder } = await use('@a2a-js/sdk', './server/express');

const option = (name, otherwise) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
};
bounded(option('--lifetime', 600));

const text = (words) => ({ kind: 'message', role: 'agent', messageId: randomUUID(), parts: [{ kind: 'text', text: words }] });
const cancelled = new Set();

const echo = {
  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context;
    const said = userMessage.parts.map((part) => part.text ?? '').join(' ');
    if (said.startsWith('message:')) {
      bus.publish({ ...text(`echo: ${said}`), contextId });
      return bus.finished();
    }
    const status = (state, words, final = false) =>
      bus.publish({
        kind: 'status-update',
        taskId,
        contextId,
        final,
        status: { state, timestamp: new Date().toISOString(), ...(words && { message: { ...text(words), taskId, contextId } }) },
      });
    if (!context.task)
      bus.publish({ kind: 'task', id: taskId, contextId, status: { state: 'submitted' }, history: [userMessage] });
    status('working', 'working on it');
    if (said.startsWith('input:')) status('input-required', 'what else?', true);
    else if (said.startsWith('fail:')) status('failed', 'it failed', true);
    else if (said.startsWith('slow:')) {
      for (let second = 1; second <= 60 && !cancelled.has(taskId); second += 1) {
        await new Promise((resolve) => setTimeout(resolve, 1000));
        if (!cancelled.has(taskId)) status('working', `second ${second}`);
      }
      status(cancelled.has(taskId) ? 'canceled' : 'completed', undefined, true);
    } else {
      const words = `echo: ${said}`.split(/\s+/);
      words.forEach((word, number) =>
        bus.publish({
          kind: 'artifact-update',
          taskId,
          contextId,
          append: number > 0,
          lastChunk: number === words.length - 1,
          artifact: { artifactId: 'echo', name: 'echo', parts: [{ kind: 'text', text: `${word} ` }] },
        }),
      );
      status('completed', 'done', true);
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
    name: 'Echo (JavaScript)',
    description: 'Repeats what it is told',
    url,
    version: '1.0.0',
    protocolVersion: '0.3.0',
    preferredTransport: 'JSONRPC',
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    capabilities: { streaming: true, pushNotifications: true },
    skills: [{ id: 'echo', name: 'Echo', description: 'Repeats a text', tags: ['echo'] }],
  };
  const configs = new InMemoryPushNotificationStore();
  const sender = new DefaultPushNotificationSender(configs);
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), echo, undefined, configs, sender);
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  console.log(url);
});
