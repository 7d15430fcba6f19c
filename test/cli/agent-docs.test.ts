import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { examineAgentConfig } from '../../src/app/cli/agent/config/read-agent-config.ts';
import { runCommand } from './run-command.ts';

const page = await readFile(new URL('../../docs/reference/agent.md', import.meta.url), 'utf8');

test("the file on the agent's page is valid", () => {
  const [, text = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const reading = examineAgentConfig(text, 'docs/reference/agent.md');
  assert.deepEqual(reading.ok ? [] : reading.problems, []);
  assert.equal(reading.ok && reading.config.tunnels.length, 7);
});

test('every flag on the page belongs to its command, and every command has help', async () => {
  const helps = new Map<string, string>();
  for (const name of ['http', 'tcp', 'tls', 'tunnel', 'start', 'config']) {
    const { code, stdout, stderr } = await runCommand([name, '--help']);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, new RegExp(`^Usage: postern ${name} `));
    helps.set(name, stdout);
  }
  const flagsIn = (text: string): string[] => Array.from(text.matchAll(/(?<![\w-])--[a-z][a-z-]*/g), ([flag]) => flag);
  const commandLines = page
    .split('\n')
    .filter((line) => /(^|\/)postern (http|tcp|tls|tunnel|start|config) /.test(line));
  assert.ok(commandLines.length > 10);
  for (const line of commandLines) {
    const [, name = ''] = /postern ([a-z]+)/.exec(line) ?? [];
    const known = flagsIn(helps.get(name) ?? '');
    const [command = ''] = line.split(' # ');
    const unknown = flagsIn(command).filter((flag) => !known.includes(flag));
    assert.deepEqual(unknown, [], line);
  }
  const all = flagsIn([...helps.values()].join('\n'));
  assert.deepEqual(
    flagsIn(page).filter((flag) => !all.includes(flag)),
    [],
  );
});

test("completion knows the commands, their flags and the flags' values", async () => {
  const { stdout } = await runCommand(['completion', 'bash']);
  assert.match(stdout, /"http"\) echo ".*--domain .*--no-inspect/);
  assert.match(stdout, /"http --scheme"\) echo "https http"/);
  assert.match(stdout, /"start --log-format"\) echo "text json"/);
  assert.match(stdout, /"tunnel --root-ca"\) echo ":file"/);
  assert.match(stdout, /"config"\) echo "check --config"/);
});
