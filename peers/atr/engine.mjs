// What the engine of the Agent Threat Rules says about each test of each rule: one line of JSON for each.
//
//   node engine.mjs FOLDER    # the folder of the npm package
//
// The runner of the package loads all rules again for every rule, and reports failures only. So its function that makes an event of a test
// is taken from its file, and called here.

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = resolve(process.argv[2]);
const load = (path) => import(pathToFileURL(join(folder, path)));
const { ATREngine } = await load('dist/engine.js');
const { loadRulesFromDirectory } = await load('dist/loader.js');

const runner = readFileSync(join(folder, 'dist/cli.js'), 'utf8');
const start = runner.indexOf('function buildEventFromTestCase');
const end = runner.indexOf('\n}\n', start) + 3;
if (start < 0 || end < 3) throw new Error('the runner has no `buildEventFromTestCase`');
const source = `export ${runner.slice(start, end)}`;
const { buildEventFromTestCase } = await import(`data:text/javascript,${encodeURIComponent(source)}`);

// As the runner has it: sources that no event has stand for others.
const sources = {
  context_window: 'llm_io',
  memory_access: 'llm_io',
  skill_lifecycle: 'tool_call',
  skill_permission: 'tool_call',
  skill_chain: 'tool_call',
};

// A folder without rules, so that the engine does not look for its own.
const nowhere = join(folder, 'dist');
const lines = [];
for (const rule of loadRulesFromDirectory(join(folder, 'rules'))) {
  const type = sources[rule.agent_source?.type] ?? rule.agent_source?.type;
  const active = { ...rule, status: 'experimental', agent_source: { ...rule.agent_source, type } };
  const engine = new ATREngine({ rules: [active], rulesDir: nowhere });
  await engine.loadRules();
  const finds = (matches) => matches.some((match) => match.rule.id === rule.id);
  for (const [label, tests] of [
    ['true_positive', rule.test_cases?.true_positives ?? []],
    ['true_negative', rule.test_cases?.true_negatives ?? []],
  ]) {
    tests.forEach((test, index) => {
      const text = String(test.input ?? test.tool_response ?? test.agent_output ?? '');
      const found = finds(engine.evaluate(buildEventFromTestCase(test, rule))) || (text !== '' && finds(engine.scanSkill(text)));
      lines.push(JSON.stringify({ id: rule.id, label, number: index + 1, found }));
    });
  }
}
process.stdout.write(`${lines.join('\n')}\n`);
