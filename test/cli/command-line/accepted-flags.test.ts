import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { runCommand } from '../run-command.ts';
import { acceptedForm } from './probe.ts';

/** Settings that every command with settings is asked for; `postern server` is asked for all of them. */
const SAMPLE = /^--(config|data-dir|database-url|api-key|log-level|authtoken|secret-key) /;

/** Forms by command. `settings` stands for the first block. */
function acceptedFlags(): ReadonlyMap<string, readonly string[]> {
  const blocks = new Map<string, string[]>();
  for (const line of linesOf('accepted-flags.txt')) {
    if (!line.startsWith(' ')) blocks.set(line, []);
    else [...blocks.values()].at(-1)?.push(line.trim());
  }
  const settings = blocks.get('settings') ?? [];
  blocks.delete('settings');
  return new Map(
    Array.from(blocks, ([command, forms]) => [
      command,
      forms.flatMap((form) => {
        if (!/^settings\b/.test(form)) return [form];
        const asked = command === 'postern server' ? settings : settings.filter((setting) => SAMPLE.test(setting));
        return asked.filter((setting) => !form.split(' ').includes(setting.split(' ')[0] as string));
      }),
    ]),
  );
}

function linesOf(name: string): readonly string[] {
  const text = readFileSync(new URL(name, import.meta.url), 'utf8');
  return text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
}

for (const [command, forms] of acceptedFlags()) {
  test(`${command} accepts every flag of the list in the same forms`, async () => {
    const found = await Promise.all(
      forms.map((form) => acceptedForm(command.replace(/^postern /, ''), form.split(' ')[0] as string)),
    );
    assert.deepEqual(found, forms);
  });
}

test('a wrong command line exits with 2 and says what is wrong', async () => {
  for (const line of linesOf('mistakes.txt')) {
    const [args = '', expected = ''] = line.split(' | ');
    const { code, stderr, stdout } = await runCommand(args.split(' '));
    assert.equal(code, 2, args);
    assert.equal(stdout, '', args);
    assert.ok(stderr.includes(expected), `postern ${args}\n  says ${stderr}  instead of ${expected}`);
  }
});
