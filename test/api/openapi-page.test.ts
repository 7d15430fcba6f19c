import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { docsPage } from '../../src/control/api/docs/docs-page.ts';
import { DocumentReader } from '../../src/control/api/docs/field-list.ts';
import { curlCommand } from '../../src/control/api/docs/page-sections.ts';
import type { OpenApiDocument } from '../../src/control/api/openapi/document.ts';
import { shareOfCases } from '../support/share-of-cases.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';
import { documentedOperations, errorCodesOf, errorRows, makeDocument } from './openapi-document.ts';

const run = promisify(execFile);
const document = makeDocument();
const page = docsPage(document, errorRows);

test('every operation, object and error code is on the page', () => {
  const ids = idsIn(page);
  const expected = [
    ...documentedOperations(document).map(({ id }) => id),
    ...document.tags.map(({ name }) => name),
    ...documentedOperations(document).flatMap(({ responses }) => [...responses.values()].flatMap(errorCodesOf)),
    ...Object.keys(document.components.schemas).map((name) => `schema-${name}`),
  ];
  assert.deepEqual(
    expected.filter((id) => !ids.includes(id)),
    [],
  );
});

test('every link resolves, and no anchor is ambiguous', () => {
  const ids = idsIn(page);
  assert.deepEqual(ids, [...new Set(ids)]);
  const links = Array.from(page.matchAll(/href="([^"]+)"/g), (match) => match[1] ?? '');
  const broken = links.filter((link) =>
    link.startsWith('#') ? !ids.includes(link.slice(1)) : link !== '/openapi.json',
  );
  assert.deepEqual(broken, []);
});

test('the page has no script, no handler and nothing external', () => {
  assert.doesNotMatch(page, /<script|<link|<img|<iframe|@import|url\(|\son\w+=|javascript:/i);
});

test('a description always stays text', () => {
  const nasty = `"'><script>alert(1)</script>&amp;\`<b>\``;
  const hostile = JSON.parse(
    JSON.stringify(document, (key, value: unknown) =>
      ['description', 'summary', 'x-displayName', 'title'].includes(key) && typeof value === 'string' ? nasty : value,
    ),
  ) as OpenApiDocument;
  const rendered = docsPage(hostile, errorRows);
  assert.doesNotMatch(rendered, /<script|<b>/);
  assert.ok(rendered.includes('&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;<code>&lt;b&gt;</code>'));
});

test('a shell understands the commands of the page', () => {
  // Functions, so that one shell reads all commands and runs none.
  const input = [...commandsOf(document).values()].map((command, at) => `f${at}() {\n${command}\n}`).join('\n');
  const { status, stderr } = spawnSync('sh', ['-n'], { input, encoding: 'utf8' });
  assert.equal(status, 0, `${stderr}\n${input}`);
});

test('a command that needs no id works when it is pasted', async (context) => {
  if (spawnSync('curl', ['--version']).error !== undefined) {
    context.skip('curl is not installed');
    return;
  }
  const world = await TestWorld.open(context, { env: { POSTERN_IDENTITY_HOST: 'id.example.com' } });
  const commands = [...commandsOf(makeDocument(world.baseUrl))].filter(
    ([, command]) => !/_2zXAMPLE|jq -n|\/changes\/revision/.test(command),
  );
  assert.ok(commands.length > 30);
  for (const [id, command] of shareOfCases(commands, 0, 4)) {
    const env = { ...process.env, POSTERN_CLI_API_KEY: TEST_API_KEY };
    const { stdout } = await run('sh', ['-c', `${command} --silent --output /dev/null --write-out '%{http_code}'`], {
      env,
    });
    assert.match(stdout, /^20[012]$/, `${id}: ${command}`);
  }
});

test('a quote in a body cannot end the command', (context) => {
  if (spawnSync('curl', ['--version']).error !== undefined) {
    context.skip('curl is not installed');
    return;
  }
  const text = JSON.stringify(document).replaceAll('the shop', "the shop's $(id) `id`");
  const command = commandsOf(JSON.parse(text) as OpenApiDocument).get('https_edges.create') ?? assert.fail();
  // The shell prints the arguments that it would pass to curl.
  const { stdout } = spawnSync('sh', ['-c', `curl() { printf '%s\\n' "$@"; }\n${command}`], { encoding: 'utf8' });
  assert.ok(stdout.includes(`"description": "the shop's $(id) \`id\`"`), stdout);
});

function commandsOf(of: OpenApiDocument): ReadonlyMap<string, string> {
  const reader = new DocumentReader(of, errorRows);
  const entries = of.tags.flatMap((tag) => reader.operationsOf(tag.name));
  return new Map(entries.map((entry) => [entry.operation.operationId, curlCommand(entry, reader)]));
}

function idsIn(text: string): readonly string[] {
  return Array.from(text.matchAll(/\sid="([^"]+)"/g), (match) => match[1] ?? '');
}
