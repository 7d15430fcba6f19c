import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { projectRoot } from './source-files.ts';

type Manifest = Partial<Record<'dependencies' | 'optionalDependencies' | 'devDependencies', Record<string, string>>>;

interface Row {
  readonly section: string;
  readonly name: string;
  readonly cells: Readonly<Record<string, string>>;
}

const COLUMNS = { reason: /./, size: /^\d[\d,]* KiB(; |$)/, 'maintained by': /./, license: /./ };

function manifest(path: string): Required<Manifest> {
  const {
    dependencies = {},
    optionalDependencies = {},
    devDependencies = {},
  } = JSON.parse(readFileSync(join(projectRoot, path), 'utf8')) as Manifest;
  return { dependencies, optionalDependencies, devDependencies };
}

/** Rows of the tables whose first column is `package`. */
function rowsOf(text: string): readonly Row[] {
  const rows: Row[] = [];
  let section = '';
  let header: readonly string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('## ')) section = line.slice(3);
    if (!line.startsWith('|')) {
      header = [];
      continue;
    }
    const values = line
      .slice(1, -1)
      .split('|')
      .map((value) => value.trim());
    if (header.length === 0) header = values;
    else if (header[0] === 'package' && !/^-+$/.test(values[0] ?? '')) {
      const cells = Object.fromEntries(header.map((name, at) => [name, values[at] ?? '']));
      rows.push({ section, name: (cells['package'] ?? '').replaceAll('`', ''), cells });
    }
  }
  return rows;
}

suite('docs/dependencies.md', () => {
  const rows = rowsOf(readFileSync(join(projectRoot, 'docs/dependencies.md'), 'utf8'));
  const server = manifest('package.json');
  const page = manifest('console/package.json');

  test('has a row for every direct dependency, in the section of its use, and no other row', () => {
    const listed = Map.groupBy(rows, ({ section }) => section);
    const expected = {
      Server: { ...server.dependencies, ...server.optionalDependencies },
      Console: { ...page.dependencies, ...page.optionalDependencies, ...page.devDependencies },
      'Development only': server.devDependencies,
      'Web site': manifest('site/package.json').devDependencies,
    };
    assert.deepEqual(
      Object.fromEntries([...listed].map(([section, all]) => [section, all.map(({ name }) => name).sort()])),
      Object.fromEntries(Object.entries(expected).map(([section, all]) => [section, Object.keys(all).sort()])),
    );
  });

  test('gives the reason, size, maintainer and license of each', () => {
    const incomplete = rows.flatMap(({ name, cells }) =>
      Object.entries(COLUMNS)
        .filter(([column, form]) => !form.test(cells[column] ?? ''))
        .map(([column]) => `${name}: ${column}`),
    );
    assert.deepEqual(incomplete, []);
  });
});
