// A scripted A2A 1.0 client on the JavaScript SDK (@a2a-js/sdk 1.x), without its compatibility mode.
//
//     client.mjs URL [--lifetime 600] OPERATION…
//
// URL is where the agent is: its card is read from URL/.well-known/agent-card.json, the rest goes to the JSON-RPC interface of
// 1.0 in the card; without one it fails. Operations and output are those of client.py:
//
//     card                             GetExtendedAgentCard            ListTasks
//     'SendMessage TEXT'               'SendStreamingMessage TEXT'
//     'reply TEXT'                     `SendMessage` in the last task
//     'GetTask [ID]'  'CancelTask [ID]'  'SubscribeToTask [ID]'        the last task if there is no ID
//     'CreateTaskPushNotificationConfig URL'
//     GetTaskPushNotificationConfig    ListTaskPushNotificationConfigs    DeleteTaskPushNotificationConfig
//
// Objects are printed in the form that the SDK has for them. Exit: 0 done; 1 the SDK could not read something; 2 usage;
// 3 no connection, or out of time.

import { randomUUID } from 'node:crypto';
import { use } from '../installed.mjs';

const { ClientFactory, DefaultAgentCardResolver } = await use('a2a-js-sdk-1', './client');
const { A2AError } = await use('a2a-js-sdk-1', './errors');

const say = (line) => console.log(JSON.stringify(line));
const [url, ...rest] = process.argv.slice(2);
const operations = [];
let lifetime = 600;
while (rest.length) {
  const word = rest.shift();
  if (word === '--lifetime') lifetime = Number(rest.shift());
  else operations.push(word);
}
if (!url || !operations.length) {
  console.error('usage: client.mjs URL [--lifetime SECONDS] OPERATION…');
  process.exit(2);
}
setTimeout(() => {
  say({ failed: 'out of time' });
  process.exit(3);
}, lifetime * 1000).unref();

// The SDK has numbers for roles, and a member `$case` for what a part or an item is.
const ROLE_USER = 1;
const unwrap = (item) => (item?.payload ? { $case: item.payload.$case, ...item.payload.value } : item);

let task; // the last one: its id and context
const remember = (item) => {
  const payload = unwrap(item);
  const isTask = payload?.status && payload.id;
  if (isTask) task = { id: payload.id, contextId: payload.contextId };
  else if (payload?.taskId) task = { id: payload.taskId, contextId: payload.contextId };
};
const message = (text, within) => ({
  tenant: '',
  metadata: undefined,
  configuration: undefined,
  message: {
    messageId: randomUUID(),
    role: ROLE_USER,
    parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
    taskId: within?.id ?? '',
    contextId: within?.contextId ?? '',
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  },
});

async function stream(op, events) {
  let count = 0;
  for await (const event of events) {
    remember(event);
    say({ op, event: unwrap(event) });
    count += 1;
  }
  say({ op, events: count });
}

async function perform(client, card, op, argument) {
  const id = argument || task?.id || 'none';
  const tenant = '';
  switch (op) {
    case 'card':
      return card;
    case 'GetExtendedAgentCard':
      return client.transport.getExtendedAgentCard({ tenant });
    case 'SendMessage':
      return client.sendMessage(message(argument));
    case 'reply':
      return client.sendMessage(message(argument, task));
    case 'SendStreamingMessage':
      return stream(op, client.sendMessageStream(message(argument)));
    case 'GetTask':
      return client.getTask({ tenant, id });
    case 'ListTasks':
      return client.listTasks({ tenant, contextId: '', status: 0, pageToken: '', statusTimestampAfter: undefined });
    case 'CancelTask':
      return client.cancelTask({ tenant, id, metadata: undefined });
    case 'SubscribeToTask':
      return stream(op, client.resubscribeTask({ tenant, id }));
    case 'CreateTaskPushNotificationConfig':
      return client.createTaskPushNotificationConfig({
        tenant,
        taskId: task?.id ?? 'none',
        id: 'config-1',
        url: argument,
        token: 'token-1',
        authentication: undefined,
      });
    case 'GetTaskPushNotificationConfig':
      return client.getTaskPushNotificationConfig({ tenant, taskId: id, id: 'config-1' });
    case 'ListTaskPushNotificationConfigs':
      return client.listTaskPushNotificationConfig({ tenant, taskId: id, pageSize: 0, pageToken: '' });
    case 'DeleteTaskPushNotificationConfig':
      return (await client.deleteTaskPushNotificationConfig({ tenant, taskId: id, id: 'config-1' })) ?? null;
    default:
      console.error(`there is no operation \`${op}\``);
      return process.exit(2);
  }
}

let invalid = 0;
try {
  const card = await new DefaultAgentCardResolver().resolve(url);
  const client = await new ClientFactory().createFromAgentCard(card);
  if (client.protocolVersion !== '1.0') throw new Error(`the SDK speaks ${client.protocolVersion}`);
  for (const operation of operations) {
    const [, op, argument] = operation.match(/^(\S+) ?(.*)$/s);
    try {
      const result = await perform(client, card, op, argument);
      if (result !== undefined) {
        if (['SendMessage', 'reply'].includes(op)) remember(result);
        say({ op, result: unwrap(result) });
      }
    } catch (error) {
      if (error instanceof A2AError) say({ op, error: { type: error.constructor.name, message: error.message } });
      else if (error.cause?.code === 'ECONNREFUSED' || error.message === 'fetch failed') throw error;
      else {
        invalid += 1;
        say({ op, invalid: `${error.constructor.name}: ${error.message}` });
      }
    }
  }
} catch (error) {
  say({ failed: `${error.constructor.name}: ${error.message}` });
  process.exit(3);
}
process.exit(invalid ? 1 : 0);
