import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { oidcConfig } from '../../src/modules/oidc/oidc.ts';
import { LoginWorld, type Seen } from '../support/login-world.ts';
import { tempDir } from '../support/temp-dir.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'src', 'modules');
const readme = readFileSync(join(folder, 'oidc', 'README.md'), 'utf8');
const sources = globSync('{oidc,login}/**/*.ts', { cwd: folder }).map((file) =>
  readFileSync(join(folder, file), 'utf8'),
);

interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly session: string;
}

test('the sample of the oidc README verifies an assertion, and no other', async (t) => {
  const world = await LoginWorld.open(t);
  const { host } = await world.site();
  const seen = JSON.parse((await world.browser().logIn(host)).text) as Seen;
  const other = await world.site();
  const elsewhere = JSON.parse((await world.browser().logIn(other.host)).text) as Seen;
  const sample = /^```js\n([\s\S]*?)^```$/m.exec(readme)?.[1] ?? '';
  const path = join(await tempDir(t), 'sample.mjs');
  await symlink(join(root, 'node_modules'), join(path, '..', 'node_modules'));
  await writeFile(
    path,
    sample.replaceAll('https://app.example.com', world.origin(host)).replaceAll('app.example.com', host),
  );
  // The host is in no DNS, and its certificate comes from the test's own authority.
  t.mock.method(globalThis, 'fetch', async (url: string) => {
    assert.equal(url, `${world.origin(host)}/.postern/jwks.json`);
    const { status, text } = await world.edge.ask(host, '/.postern/jwks.json');
    return new Response(text, { status });
  });
  const { userOf } = (await import(pathToFileURL(path).href)) as {
    readonly userOf: (request: { readonly headers: object }) => Promise<User>;
  };
  const user = await userOf({ headers: seen.headers });
  assert.equal(user.id, seen.headers['postern-auth-user-id']);
  assert.equal(user.email, 'alice@example.com');
  assert.equal(user.name, 'Alice Example');
  assert.match(user.session, /^as_/);
  const assertion = String(seen.headers['postern-auth-assertion']);
  const forged = `${assertion.slice(0, -8)}${'A'.repeat(8)}`;
  await assert.rejects(userOf({ headers: { 'postern-auth-assertion': forged } }), /signature/);
  await assert.rejects(userOf({ headers: elsewhere.headers }), /"iss"|"aud"/);
});

test('the oidc README names every field', () => {
  for (const field of Object.keys(oidcConfig.properties)) assert.ok(readme.includes(`\`${field}\``), field);
});

test('the oidc README names every word of the metric, and no other', () => {
  const words = sources.flatMap((source) =>
    Array.from(source.matchAll(/count\('(\w+)'\)/g), (match) => match[1] ?? ''),
  );
  const counted = /`postern_login_events_total\{event\}` counts: ([\s\S]*?), and `failed_`/.exec(readme)?.[1] ?? '';
  const said = Array.from(counted.matchAll(/`(\w+)`/g), (match) => match[1] ?? '');
  assert.deepEqual(said.toSorted(), [...new Set(words)].toSorted());
});

test('the oidc README names every reason of a failed login', () => {
  const source = readFileSync(join(folder, 'login', 'provider', 'login-problem.ts'), 'utf8');
  const unions = source.slice(source.indexOf('export type LoginProblemKind'), source.indexOf('export class'));
  const words = Array.from(unions.matchAll(/'(\w+)'/g), (match) => match[1] ?? '');
  assert.ok(words.length > 40);
  const isSaid = (word: string): boolean => readme.includes(`\`${word}\``) || readme.includes(`\`${word}_…\``);
  assert.deepEqual(
    words.filter((word) => !isSaid(word)),
    [],
  );
});
