import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { allErrorRows, errorTables } from '../../src/app/main/error-tables.ts';
import { filesIn, productFiles, projectRoot } from '../architecture/source-files.ts';
import { documentedOperations, errorCodesOf, makeDocument, operations } from './openapi-document.ts';

const CODE = /\bERR_POSTERN_[A-Z0-9_]+\b/g;
const rows = allErrorRows();

test('every error code that the product names is in a table', () => {
  const unknown = productFiles().flatMap(({ path, text }) =>
    (text.match(CODE) ?? []).filter((code) => !(code in rows)).map((code) => `${path}: ${code}`),
  );
  assert.deepEqual(unknown, []);
});

test('every error table of the product is in the list', async () => {
  const listed = new Set(errorTables.map((table) => table.rows));
  for (const { path, text } of productFiles()) {
    for (const match of text.matchAll(/export const (\w+) = errorTable\(/g)) {
      const module = (await import(`../../${path}`)) as Record<string, { rows: object } | undefined>;
      const table = module[match[1] as string] ?? assert.fail(`${path} does not export ${match[1]}`);
      assert.ok(listed.has(table.rows as never), `${path}: ${match[1]} is not in src/app/main/error-tables.ts`);
    }
  }
});

test('no code is in two tables', () => {
  const codes = errorTables.flatMap((table) => Object.keys(table.rows));
  assert.deepEqual(codes, [...new Set(codes)]);
});

test('every code of a table is raised somewhere', () => {
  // In the file of a table, its rows name the code too.
  const text = productFiles()
    .map((file) =>
      file.path.endsWith('/errors.ts') ? (file.text.match(/\.create\('\w+'/g) ?? []).join('\n') : file.text,
    )
    .join('\n');
  const raised = new Set(text.match(CODE) ?? []);
  assert.deepEqual(
    Object.keys(rows).filter((code) => !raised.has(code)),
    [],
  );
});

test('every code is on the errors page, with its status and a sentence', () => {
  const page = readFileSync(`${projectRoot}/docs/reference/errors.md`, 'utf8');
  for (const [code, { status, explanation }] of Object.entries(rows)) {
    assert.ok(page.includes(`| \`${code}\` | ${status} | ${explanation.replaceAll('|', '\\|')} |`), code);
    assert.match(explanation, /^[A-Z`].*\.$/s, code);
    assert.ok(status >= 400 && status <= 599, code);
  }
});

test('every error that an operation names is in the document', () => {
  const explained = makeDocument().components.schemas['Error']?.['description'] as string;
  for (const operation of operations) {
    for (const code of operation.errors)
      assert.ok(explained.includes(`- \`${code}\` (`), `${operation.resource}.${operation.verb}: ${code}`);
  }
});

/** What the layers around an operation add to it. A status with codes of its own hides those of `default`. */
const EVERYWHERE = ['ERR_POSTERN_STARTING', 'ERR_POSTERN_REVOCATIONS_UNKNOWN', 'ERR_POSTERN_STORE_UNAVAILABLE'];
const OF_WRITES = ['ERR_POSTERN_CHANGE_PENDING', 'ERR_POSTERN_TOO_MANY_CONFLICTS', 'ERR_POSTERN_STORE_READ_ONLY'];

test('each operation lists the codes that the layers around it give', () => {
  const own: readonly (readonly [string, string])[] = [
    ['changesets.create', 'ERR_POSTERN_TOO_MANY_LARGE_BODIES'],
    ['https_edge_routes.access.review', 'ERR_POSTERN_INVALID_TIME'],
    ['user_accounts.invite', 'ERR_POSTERN_CHANGE_PENDING'],
  ];
  const served = new Set(operations.map(({ resource, verb }) => `${resource}.${verb}`));
  // Public pages are served without these layers.
  const inLayers = documentedOperations(makeDocument()).filter(({ id }) => served.has(id));
  for (const { id, method, responses } of inLayers) {
    const mine = own.flatMap(([operation, code]) => (operation === id ? [code] : []));
    for (const code of [...EVERYWHERE, ...(method === 'GET' ? [] : OF_WRITES), ...mine]) {
      const { status = 0 } = rows[code as keyof typeof rows] ?? {};
      const response = responses.get(status) ?? responses.get('default') ?? assert.fail(`${id} has no errors`);
      assert.ok(errorCodesOf(response).includes(code), `${id} ${status}: ${code}`);
    }
  }
});

test('no documentation names an error code that does not exist', () => {
  const wrong = filesIn('docs/**/*.md', '*.md').flatMap((path) => {
    const text = readFileSync(`${projectRoot}/${path}`, 'utf8');
    // A page that shows how to add an error has the row of its example.
    const isExample = (code: string): boolean => text.includes(`  ${code}: { status: `);
    return (text.match(CODE) ?? [])
      .filter((code) => !(code in rows) && !isExample(code))
      .map((code) => `${path}: ${code}`);
  });
  assert.deepEqual(wrong, []);
});
