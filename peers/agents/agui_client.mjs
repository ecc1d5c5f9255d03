// An AG-UI client on the JavaScript SDK (@ag-ui/client), to compare ours with.
//
//     agui_client.mjs URL TEXT [--tool NAME]… [--result TEXT] [--lifetime 600]
//
// Sends TEXT as a user message, with frontend tools of these names. A tool the agent calls is answered with the result,
// in a new run on the same thread, until it calls none. Prints JSON lines: {"run": RunAgentInput} as it is sent, and
// {"event"} for each event as the SDK passed it on. Exit: 0 done; 1 the SDK objected; 2 usage; 3 out of time.

import { randomUUID } from 'node:crypto';
import { use } from '../installed.mjs';

const { HttpAgent } = await use('@ag-ui/client');

const say = (line) => console.log(JSON.stringify(line));
const [url, text, ...rest] = process.argv.slice(2);
const options = { '--tool': [], '--result': ['ok'], '--lifetime': ['600'] };
while (rest.length) options[rest.shift()]?.push(rest.shift());
if (!url || !text) {
  console.error('usage: agui_client.mjs URL TEXT [--tool NAME]… [--result TEXT] [--lifetime SECONDS]');
  process.exit(2);
}
setTimeout(() => process.exit(3), Number(options['--lifetime'].at(-1)) * 1000).unref();

const sent = async (address, init) => {
  say({ run: JSON.parse(init.body), headers: init.headers });
  return fetch(address, init);
};
const agent = new HttpAgent({ url, threadId: 'thread-1', fetch: sent });
const parameters = { type: 'object', properties: {} };
const tools = options['--tool'].map((name) => ({ name, description: `The tool ${name}`, parameters }));
agent.messages = [{ id: randomUUID(), role: 'user', content: text }];
try {
  for (let run = 1; run <= 10; run += 1) {
    const { newMessages } = await agent.runAgent({ runId: `run-${run}`, tools }, { onEvent: ({ event }) => say({ event }) });
    const calls = newMessages.flatMap((message) => message.toolCalls ?? []);
    if (!calls.length) break;
    for (const call of calls)
      agent.messages.push({ id: randomUUID(), role: 'tool', toolCallId: call.id, content: options['--result'].at(-1) });
  }
  process.exit(0);
} catch (error) {
  say({ invalid: `${error.constructor.name}: ${error.message}` });
  process.exit(1);
}
