// A scripted A2A 0.3 client on the JavaScript SDK (@a2a-js/sdk).
//
//     client.mjs URL [--lifetime 600] OPERATION…
//
// URL is where the agent is: its card is read from URL/.well-known/agent-card.json, the rest goes to the URL in the card.
// Operations and output are those of client.py:
//
//     agent_card/get                              agent/getAuthenticatedExtendedCard
//     'message/send TEXT'                         'message/stream TEXT'
//     'reply TEXT'                                `message/send` in the last task
//     'tasks/get [ID]'  'tasks/cancel [ID]'  'tasks/resubscribe [ID]'       the last task if there is no ID
//     'tasks/pushNotificationConfig/set URL'      'tasks/pushNotificationConfig/get [ID]'
//
// The SDK does not validate: what it passes on is what came. Exit: 0 done; 1 the SDK could not read something; 2 usage;
// 3 no connection, or out of time.

import { randomUUID } from 'node:crypto';
import { use } from '../installed.mjs';

const { ClientFactory, DefaultAgentCardResolver } = await use('@a2a-js/sdk', './client');

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

let task; // the last one: its id and context
const remember = (item) => {
  const id = item?.kind === 'task' ? item.id : item?.taskId;
  if (item?.kind && id) task = { id, contextId: item.contextId };
};
const message = (text, within) => ({
  message: {
    kind: 'message',
    messageId: randomUUID(),
    role: 'user',
    parts: [{ kind: 'text', text }],
    ...(within && { taskId: within.id, contextId: within.contextId }),
  },
});

async function stream(op, events) {
  let count = 0;
  for await (const event of events) {
    remember(event);
    say({ op, event });
    count += 1;
  }
  say({ op, events: count });
}

async function perform(client, card, op, argument) {
  const id = argument || task?.id || 'none';
  switch (op) {
    case 'agent_card/get':
      return card;
    case 'agent/getAuthenticatedExtendedCard':
      return client.getAgentCard();
    case 'message/send':
      return client.sendMessage(message(argument));
    case 'reply':
      return client.sendMessage(message(argument, task));
    case 'message/stream':
      return stream(op, client.sendMessageStream(message(argument)));
    case 'tasks/get':
      return client.getTask({ id });
    case 'tasks/cancel':
      return client.cancelTask({ id });
    case 'tasks/resubscribe':
      return stream(op, client.resubscribeTask({ id }));
    case 'tasks/pushNotificationConfig/set':
      return client.setTaskPushNotificationConfig({
        taskId: task?.id ?? 'none',
        pushNotificationConfig: { id: 'config-1', url: argument, token: 'token-1' },
      });
    case 'tasks/pushNotificationConfig/get':
      return client.getTaskPushNotificationConfig({ id, pushNotificationConfigId: 'config-1' });
    default:
      console.error(`there is no operation \`${op}\``);
      return process.exit(2);
  }
}

let invalid = 0;
try {
  const card = await new DefaultAgentCardResolver().resolve(url);
  const client = await new ClientFactory().createFromAgentCard(card);
  for (const operation of operations) {
    const [, op, argument] = operation.match(/^(\S+) ?(.*)$/s);
    try {
      const result = await perform(client, card, op, argument);
      if (result !== undefined) {
        remember(result);
        say({ op, result });
      }
    } catch (error) {
      // Its JSON-RPC errors are classes named after the code, or carry the whole answer, or only mention the code.
      const code = error.errorResponse?.error?.code ?? Number(error.message.match(/\(?[Cc]ode:? (-\d+)\)?/)?.[1]);
      const known = /^Task|^Push|^Unsupported|^ContentType|^InvalidAgent|^Authenticated/.test(error.constructor.name);
      if (code || known) say({ op, error: { code: code || undefined, message: error.message } });
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
