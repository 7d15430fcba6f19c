import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import { loadConfig } from '../../src/app/settings/load.ts';
import { settingNames, variableOf } from '../../src/app/settings/schema.ts';
import { projectRoot } from '../docs/markdown.ts';
import { stages } from './dockerfile.ts';

interface ComposeFile {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly environment: Readonly<Record<string, string>>;
        readonly ports?: readonly string[];
        readonly volumes?: readonly string[];
        readonly depends_on?: Readonly<Record<string, unknown>>;
        readonly image?: string;
        readonly [key: string]: unknown;
      }
    >
  >;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const FILES: readonly string[] = ['compose.yaml', 'compose.postgres.yaml'];
/** The last one is for commands in the container. */
const variables = new Set([...settingNames.map(variableOf), 'POSTERN_CLI_API_URL']);
const textOf = (file: string): string => readFileSync(join(projectRoot, file), 'utf8');
const [standalone, postgres] = FILES.map((file) => parse(textOf(file)) as ComposeFile) as [ComposeFile, ComposeFile];

/** Variables as Compose fills them in; throws where it would stop. */
function filled(environment: Readonly<Record<string, string>>, env: Readonly<Record<string, string>>) {
  const value = (text: string): string =>
    text.replaceAll(/\$\{(\w+):([?-])([^}]*)\}/g, (_, name: string, mark: string, rest: string) => {
      const given = env[name] ?? '';
      if (given === '' && mark === '?') throw new Error(`${name}: ${rest}`);
      return given === '' ? rest : given;
    });
  return Object.fromEntries(Object.entries(environment).map(([name, text]) => [name, value(text)]));
}

suite('the Compose files', () => {
  test('one starts as it stands, with the ports of the image and settings that the server accepts', () => {
    const { postern } = standalone.services;
    assert(postern !== undefined);
    const exposed = stages()
      .at(-1)
      ?.find(({ name }) => name === 'EXPOSE')
      ?.text.split(' ');
    assert.deepEqual(
      postern.ports?.map((pair) => pair.split(':')[1]),
      exposed,
    );
    const { config } = loadConfig({ flags: new Map(), env: filled(postern.environment, {}) });
    assert.deepEqual([config.acme, config.identity_host, config.edge_host_ports], ['off', null, [443]]);
    const chosen = { POSTERN_ACME: 'on', POSTERN_IDENTITY_HOST: 'id.example.com', POSTERN_DOMAIN: 'example.com' };
    assert.equal(loadConfig({ flags: new Map(), env: filled(postern.environment, chosen) }).config.acme, 'on');
  });

  test('give the server a read-only file system, no capability, and settings that exist', () => {
    const { postern } = standalone.services;
    assert.equal(postern?.['read_only'], true);
    assert.deepEqual(postern['cap_drop'], ['ALL']);
    for (const { services } of [standalone, postgres])
      for (const name of Object.keys(services['postern']?.environment ?? {})) assert(variables.has(name), name);
  });

  test('keep data in volumes that they declare, and demand every secret', () => {
    for (const { services, volumes: declared } of [standalone, postgres])
      for (const { volumes = [] } of Object.values(services))
        for (const volume of volumes) assert((volume.split(':')[0] ?? '') in declared, volume);
    for (const [, name = '', rest = ''] of FILES.map(textOf)
      .join('')
      .matchAll(/\$\{(\w+)([^}]*)\}/g))
      assert.match(rest, /PASSWORD|KEY/.test(name) ? /^:\?/ : /^:-/, name);
  });

  test('the second one adds a database that the server waits for', () => {
    const { postern, database } = postgres.services;
    assert.match(database?.image ?? '', /^postgres:\d+$/);
    assert.deepEqual(postern?.depends_on, { database: { condition: 'service_healthy' } });
    assert.throws(() => filled(postern.environment, {}), /POSTGRES_PASSWORD: set it in \.env/);
    const secrets = { POSTGRES_PASSWORD: 'x'.repeat(48), POSTERN_SECRET_KEY: Buffer.alloc(32, 1).toString('base64') };
    const env = filled({ ...standalone.services['postern']?.environment, ...postern.environment }, secrets);
    assert.match(loadConfig({ flags: new Map(), env }).config.database_url ?? '', /@database\/postern$/);
  });

  test('Compose itself accepts them', (t) => {
    const words = compose();
    if (words === null)
      return t.skip('NOT CHECKED: no "docker compose", docker-compose or podman-compose with "config" is installed');
    assert.equal('database' in merged(words, FILES.slice(0, 1)).services, false);
    assert.equal('database' in merged(words, FILES).services, true);
  });
});

function merged([program = '', ...first]: readonly string[], files: readonly string[]): ComposeFile {
  const env = { ...process.env, POSTGRES_PASSWORD: 'x', POSTERN_SECRET_KEY: 'y' };
  const args = [...first, ...files.flatMap((file) => ['-f', file]), 'config'];
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: projectRoot, encoding: 'utf8', env });
  assert.equal(status, 0, stderr);
  return parse(stdout) as ComposeFile;
}

function compose(): readonly string[] | null {
  const works = (...words: readonly string[]): boolean =>
    spawnSync(words[0] ?? '', words.slice(1), { stdio: 'ignore' }).status === 0;
  // The podman-compose of Debian 12 has no "config", and docker without Compose answers --help with its own.
  const isThere = (words: readonly string[]): boolean =>
    works(...words, 'version') && works(...words, 'config', '--help');
  return [['docker', 'compose'], ['docker-compose'], ['podman-compose']].find(isThere) ?? null;
}
