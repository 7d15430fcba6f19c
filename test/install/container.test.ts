// Long form: builds the executable. Short form: test/e2e/process/package.test.ts
// Own process: takes long, so it starts first.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { settingNames, variableOf } from '../../src/app/settings/schema.ts';
import { isInContext } from '../../tools/release/container-context.ts';
import { projectRoot } from '../docs/markdown.ts';
import { builtByDockerfile } from '../support/built-binary.ts';
import { startPostern } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { readDockerfile, stages } from './dockerfile.ts';

const TIMEOUT_MS = 280_000;
const variables = new Set(settingNames.map(variableOf));

function textOf(name: string, stage = -1): readonly string[] {
  const found = stages().at(stage) ?? [];
  return found.filter((instruction) => instruction.name === name).map(({ text }) => text);
}

function environment(): Readonly<Record<string, string>> {
  const [text = ''] = textOf('ENV');
  return Object.fromEntries(text.split(' ').map((pair) => pair.split('=') as [string, string]));
}

suite('the Dockerfile', { timeout: TIMEOUT_MS }, () => {
  test('names its base images by version, and runs a program without a shell', () => {
    for (const { name, text } of readDockerfile()) {
      if (name === 'FROM') assert.match(text, /^[a-z./-]+:[a-z0-9.-]*\d[a-z0-9.-]*( AS \w+)?$/, text);
      if (name === 'ENTRYPOINT' || name === 'CMD') assert(Array.isArray(JSON.parse(text)), text);
      if (name === 'RUN' && text.includes('apt-get install'))
        assert.match(text, /apt-get update && .*rm -rf \/var\/lib\/apt\/lists/);
      assert.doesNotMatch(text, /:latest|\bcurl\b.*\|.*sh|https?:/, text);
    }
  });

  test('runs as a numbered user without privileges, who owns the volume', () => {
    const [user = ''] = textOf('USER');
    assert.match(user, /^[1-9]\d{3,}:[1-9]\d{3,}$/);
    const volume = textOf('VOLUME')[0] ?? '';
    assert.equal(environment()['POSTERN_DATA_DIR'], volume);
    assert(textOf('COPY').some((text) => text.includes(`--chown=${user}`) && text.endsWith(` ${volume}`)));
  });

  test('sets only settings that exist, and exposes the ports that they open', () => {
    const ports = Object.entries(environment()).flatMap(([name, value]) => {
      assert(variables.has(name), name);
      return name.endsWith('_LISTEN') ? [value.split(':').at(-1)] : [];
    });
    assert.deepEqual(textOf('EXPOSE')[0]?.split(' '), ports);
  });

  test('copies files that exist and that .dockerignore lets into the build', () => {
    for (const text of textOf('COPY', 0)) {
      for (const path of text.split(' ').slice(0, -1)) {
        assert(existsSync(join(projectRoot, path)), path);
        assert(isInContext(path), `.dockerignore keeps ${path} out`);
      }
    }
    for (const path of [
      '.git/config',
      'node_modules/x',
      'postern-data/secret.key',
      '.env',
      'src/kit/net/cidr.test.ts',
      'dist/x',
    ])
      assert(!isInContext(path), path);
  });

  test('builds with the files that it copies, and its health check sees the server', async (t) => {
    console.error(
      'NOT BUILT AS AN IMAGE: the steps of the Dockerfile run here as they stand; npm run test:long builds it where it can',
    );
    const build = await builtByDockerfile();
    const program = join(build, 'out', 'postern');
    assert.equal(statSync(program).mode & 0o777, 0o755);
    assert.equal(statSync(join(build, 'out', 'data')).mode & 0o777, 0o700);
    await runImage(t, program);
  });
});

/** ENTRYPOINT, CMD, ENV, USER and HEALTHCHECK of the last stage, with another data directory and free ports. */
async function runImage(t: import('node:test').TestContext, program: string): Promise<void> {
  const scratch = await tempDir(t);
  chmodSync(scratch, 0o755);
  const data = join(scratch, 'data');
  mkdirSync(data, { mode: 0o700 });
  const [uid = 0, gid = 0] = (textOf('USER')[0] ?? '').split(':').map(Number);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(data, uid, gid);
  const env = Object.fromEntries(
    Object.entries(environment()).map(([name, value]) => [
      name,
      name.endsWith('_LISTEN') ? value.replace(/:\d+$/, ':0') : data,
    ]),
  );
  const words = (name: string): string[] => JSON.parse(textOf(name)[0] ?? '[]') as string[];
  const [, ...given] = [...words('ENTRYPOINT'), ...words('CMD')];
  const shared = { cwd: data, ...(isRoot && { uid, gid }) };
  const server = startPostern(t, {
    ...shared,
    command: [program, ...given],
    env: { ...env, POSTERN_API_LISTEN: '127.0.0.1:0' },
  });
  const { addresses } = await server.ready();
  const [, check = ''] = /CMD (\[.*\])$/.exec(textOf('HEALTHCHECK')[0] ?? '') ?? [];
  const [entry, ...args] = JSON.parse(check) as string[];
  assert.equal(entry, words('ENTRYPOINT')[0]);
  const health = (listen: string) =>
    startPostern(t, { ...shared, command: [program, ...args], env: { ...env, POSTERN_API_LISTEN: listen } });
  const healthy = health(addresses.api);
  assert.equal((await healthy.exited).code, 0, healthy.stderr());
  assert.match(healthy.stdout(), /"status":"ready"/);
  server.child.kill('SIGTERM');
  assert.deepEqual(await server.exited, { code: 0, signal: null });
  const gone = health(addresses.api);
  assert.equal((await gone.exited).code, 1);
  assert.match(gone.stderr(), /cannot reach 127\.0\.0\.1:\d+: nothing listens there/);
}
