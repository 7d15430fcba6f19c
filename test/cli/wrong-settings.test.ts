import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { tempDir } from '../support/temp-dir.ts';
import { runCommand } from './run-command.ts';

const EX_CONFIG = 78;
/** The command line itself. */
const EX_USAGE = 2;

suite('a setting that is wrong ends a command with 78 (EX_CONFIG)', () => {
  for (const [what, args, env, message] of [
    ['the value of a flag', ['server', '--edge-idle-timeout', '5 minutes'], {}, /"5 minutes".*such as 90s/],
    ['the value of a variable', ['server'], { POSTERN_LOG_LEVEL: 'loud' }, /variable POSTERN_LOG_LEVEL/],
    ['an unknown variable', ['server'], { POSTERN_DOMIAN: 'x' }, /POSTERN_DOMAIN/],
    ['settings that exclude each other', ['server'], { POSTERN_API_TLS_KEY: 'key.pem' }, /api_tls_cert/],
    ['the same for ca', ['ca', 'print'], { POSTERN_LOG_LEVEL: 'loud' }, /POSTERN_LOG_LEVEL/],
    ['the same for health', ['health'], { POSTERN_LOG_LEVEL: 'loud' }, /POSTERN_LOG_LEVEL/],
    ['a duration in a unit that it has not', ['server', '--history-max-age', '90m'], {}, /whole days, such as 14d/],
    ['a protocol that nobody speaks here', ['server', '--otel-protocol', 'grpc'], {}, /http\/protobuf.*4318/],
  ] as const)
    test(what, async () => {
      const { code, stderr } = await runCommand(args, { env });
      assert.equal(code, EX_CONFIG, stderr);
      assert.match(stderr, message);
    });

  for (const [what, text] of [
    ['an unknown key', 'domian: example.com\n'],
    ['a value', 'edge_idle_timeout: soon\n'],
    ['text that is no YAML', 'domain: [\n'],
  ] as const)
    test(`${what} in the file of a server`, async (t) => {
      const file = join(await tempDir(t), 'postern.yaml');
      await writeFile(file, text);
      const { code, stderr } = await runCommand(['server', '--config', file]);
      assert.equal(code, EX_CONFIG, stderr);
      assert.match(stderr, /postern\.yaml:\d/);
    });

  for (const args of [
    ['start', '--all'],
    ['config', 'check'],
  ])
    test(`a mistake in the file of an agent: postern ${args.join(' ')}`, async (t) => {
      const file = join(await tempDir(t), 'postern.yml');
      await writeFile(file, 'version: 2\ntunels: {}\n');
      const { code, stderr } = await runCommand([...args, '--config', file]);
      assert.equal(code, EX_CONFIG, stderr);
      assert.match(stderr, /tunels/);
    });

  test('a file that cannot be read may be there a moment later: 1', async (t) => {
    const file = join(await tempDir(t), 'gone.yml');
    for (const args of [['server'], ['start', '--all'], ['config', 'check']])
      assert.equal((await runCommand([...args, '--config', file])).code, 1, args.join(' '));
  });

  test('a flag that nobody knows is wrong usage: 2', async () => {
    assert.equal((await runCommand(['server', '--domian', 'example.com'])).code, EX_USAGE);
  });
});
