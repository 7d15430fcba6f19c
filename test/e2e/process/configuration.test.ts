// Own process: takes long, so it starts first.
import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { type ProcessOptions, startPostern, startServerProcess } from '../../support/server-process.ts';
import { firstOf } from '../../support/share-of-cases.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 240_000;

suite('postern server, wrongly configured', { timeout: TIMEOUT_MS }, () => {
  const cases: readonly [string, ProcessOptions, number, RegExp][] = [
    [
      'unknown flag',
      { args: ['--api-lisen', '127.0.0.1:1'] },
      2,
      /^postern: unknown flag --api-lisen\. Did you mean "--api-listen"/,
    ],
    [
      'unknown variable',
      { env: { POSTERN_DOMIAN: 'x' } },
      78,
      /^postern: unknown environment variable POSTERN_DOMIAN.*"POSTERN_DOMAIN"/,
    ],
    [
      'bad value',
      { env: { POSTERN_LOG_LEVEL: 'loud' } },
      78,
      /^postern: log_level \(variable POSTERN_LOG_LEVEL\) is "loud"; allowed: trace, debug, info/,
    ],
    [
      'reachable API in the clear',
      { args: ['--api-listen', '0.0.0.0:0'] },
      78,
      /^postern: api_listen is 0\.0\.0\.0:0.*POSTERN_API_TLS_CERT/,
    ],
    [
      'absent file',
      { args: ['--config', 'absent.yaml'] },
      1,
      /^postern: cannot read the configuration file absent\.yaml: it does not exist. Check the path$/m,
    ],
    ['stray argument', { args: ['now'] }, 2, /^postern server takes no argument/],
  ];
  // Every message has a unit test; these show how the process ends.
  for (const [name, options, code, message] of firstOf(cases, 4)) {
    test(`stops before it starts: ${name}`, async (t) => {
      const dataDir = await tempDir(t);
      const server = startServerProcess(t, dataDir, options);
      assert.deepEqual(await server.exited, { code, signal: null });
      assert.match(server.stderr(), message);
      assert.equal(server.stderr().trimEnd().split('\n').length, 1, 'one line, no stack');
      assert.equal(server.stdout(), '');
      assert.deepEqual(await readdir(dataDir), []);
    });
  }

  test('names file and line of an unknown key', async (t) => {
    const dataDir = await tempDir(t);
    const file = join(dataDir, 'postern-server.yaml');
    await writeFile(file, 'region: eu\nlog_levle: info\n');
    const server = startServerProcess(t, dataDir, { env: { POSTERN_CONFIG: file } });
    assert.equal((await server.exited).code, 78);
    assert.match(server.stderr(), /postern-server\.yaml:2: unknown setting "log_levle"\. Did you mean "log_level"/);
  });

  test('shows the stack of a startup error when details are requested', async (t) => {
    const server = startServerProcess(t, await tempDir(t), { args: ['--log-level', 'debug', '--region', 'A B'] });
    assert.equal((await server.exited).code, 78);
    assert.match(server.stderr(), /\n\s+at /);
  });
});

suite('postern server --print-config', { timeout: TIMEOUT_MS }, () => {
  test('prints the effective values with their sources, masks secrets, and starts nothing', async (t) => {
    const dataDir = await tempDir(t);
    const file = join(dataDir, 'postern-server.yaml');
    await writeFile(file, 'region: eu\nauthtoken: plantedAuthtoken-plantedAuthtoken-1234\n');
    const printed = startPostern(t, {
      args: ['server', '--config', file, '--print-config', '--api-key=plantedKey-plantedKey-plantedKey-1234'],
      env: {
        POSTERN_DATABASE_URL: 'postgres://u:plantedPassword@db/x',
        POSTERN_SECRET_KEY: Buffer.from('plantedSecret-plantedSecret-1234').toString('base64'),
      },
    });
    assert.equal((await printed.exited).code, 0);
    const text = printed.stdout() + printed.stderr();
    assert.match(text, /^region: eu # .*postern-server\.yaml:1$/m);
    assert.match(text, /^api_key: "\*+" # flag --api-key$/m);
    assert.doesNotMatch(text, /planted|cGxhbnRlZ/);
    assert.deepEqual(await readdir(dataDir), ['postern-server.yaml']);
  });
});

suite('postern', { timeout: TIMEOUT_MS }, () => {
  test('prints help', async (t) => {
    const help = startPostern(t, { args: ['--help'] });
    assert.equal((await help.exited).code, 0);
    assert.match(help.stdout(), /^ {2}server\s+start the server$/m);
    const serverHelp = startPostern(t, { args: ['server', '--help'] });
    assert.equal((await serverHelp.exited).code, 0);
    assert.match(serverHelp.stdout(), /^ {2}--api-listen/m);
    const nothing = startPostern(t, {});
    assert.equal((await nothing.exited).code, 2);
    assert.match(nothing.stderr(), /Usage: postern COMMAND/);
  });
});
