import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { tempDir } from '../../test/support/temp-dir.ts';
import { loadConfig } from '../app/settings/load.ts';
import { createLog } from '../kit/logging/logger.ts';
import { type BootstrapKind, type BootstrapPort, bootstrap } from './bootstrap.ts';

interface Made {
  readonly kind: BootstrapKind;
  readonly token: string;
}

function memoryPort(made: Made[], failing = false): BootstrapPort {
  return {
    count: async (kind) => made.filter((record) => record.kind === kind).length,
    has: async (kind, token) => made.some((record) => record.kind === kind && record.token === token),
    administratorLink: async () => 'https://id.example.com/invitation?invite=x',
    create: async (record) => {
      if (failing) throw new Error('crashed here');
      made.push(record);
    },
  };
}

function setUp(dataDir: string, env: Record<string, string> = {}) {
  const { config } = loadConfig({ flags: new Map([['data-dir', dataDir]]), env });
  let output = '';
  const { logger } = createLog('info', {
    write: (line) => {
      output += line;
    },
  });
  return { config, logger, output: () => output };
}

suite('bootstrap', () => {
  test('returns generated secrets to be shown at a terminal, and then writes no file', async (t) => {
    const dataDir = await tempDir(t);
    const made: Made[] = [];
    const { config, logger, output } = setUp(dataDir);
    const shown = await bootstrap({ config, logger, port: memoryPort(made), isTerminal: true });
    assert.deepEqual(
      made.map(({ token }) => token),
      [shown.apiKey, shown.authtoken],
    );
    assert.notEqual(shown.apiKey, shown.authtoken);
    // Commands in another terminal find them.
    assert.equal(await readFile(join(dataDir, 'first-api-key'), 'utf8'), `${shown.apiKey}\n`);
    assert.equal(await readFile(join(dataDir, 'first-authtoken'), 'utf8'), `${shown.authtoken}\n`);
    assert(!output().includes(shown.apiKey ?? '') && !output().includes(shown.authtoken ?? ''));
    assert.deepEqual(await bootstrap({ config, logger, port: memoryPort(made), isTerminal: true }), {
      apiKey: null,
      authtoken: null,
      administratorLink: null,
    });
    assert.equal(made.length, 2);
  });

  test('locks nobody out when it crashes before the key is stored: the next start creates another', async (t) => {
    const dataDir = await tempDir(t);
    const { config, logger } = setUp(dataDir);
    const made: Made[] = [];
    await assert.rejects(
      bootstrap({ config, logger, port: memoryPort(made, true), isTerminal: false }),
      /crashed here/,
    );
    await bootstrap({ config, logger, port: memoryPort(made), isTerminal: false });
    assert.equal(await readFile(join(dataDir, 'first-api-key'), 'utf8'), `${made[0]?.token}\n`);
  });

  test('shows the link of the first administrator at a terminal only, and else writes it to a file', async (t) => {
    const env = { POSTERN_IDENTITY_HOST: 'id.example.com' };
    const [shown, written] = [await tempDir(t), await tempDir(t)];
    const first = setUp(shown, env);
    const atTerminal = await bootstrap({ ...first, port: memoryPort([]), isTerminal: true });
    assert.equal(atTerminal.administratorLink, 'https://id.example.com/invitation?invite=x');
    assert.deepEqual((await readdir(shown)).sort(), ['first-api-key', 'first-authtoken']);
    const second = setUp(written, env);
    const elsewhere = await bootstrap({ ...second, port: memoryPort([]), isTerminal: false });
    assert.equal(elsewhere.administratorLink, null);
    const file = join(written, 'first-administrator');
    assert.equal(await readFile(file, 'utf8'), 'https://id.example.com/invitation?invite=x\n');
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.ok(!first.output().includes('invite=') && !second.output().includes('invite='));
  });

  test('stores a preset and shows it nowhere', async (t) => {
    const dataDir = await tempDir(t);
    const preset = 'p'.repeat(32);
    const { config, logger, output } = setUp(dataDir, { POSTERN_API_KEY: preset });
    const made: Made[] = [];
    const shown = await bootstrap({ config, logger, port: memoryPort(made), isTerminal: true });
    assert.equal(made[0]?.token, preset);
    assert.equal(shown.apiKey, null);
    assert(!output().includes(preset));
    assert.match(output(), /the first API key is that of the setting api_key/);
  });

  test('says what was done with a preset when there are keys already, and shows neither', async (t) => {
    const made: Made[] = [{ kind: 'api_key', token: 'o'.repeat(32) }];
    for (const [preset, said] of [
      ['o'.repeat(32), /"level":"info".*api_key is no longer needed: the store has this API key/],
      ['a'.repeat(32), /"level":"warn".*does not accept this one.*POSTERN_API_KEY.*POSTERN_CLI_API_KEY/],
    ] as const) {
      const { config, logger, output } = setUp(await tempDir(t), { POSTERN_API_KEY: preset });
      await bootstrap({ config, logger, port: memoryPort(made), isTerminal: true });
      assert.match(output(), said);
      assert(!output().includes(preset) && !output().includes('o'.repeat(32)));
    }
    assert.equal(made.filter(({ kind }) => kind === 'api_key').length, 1);
  });
});
