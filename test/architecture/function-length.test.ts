import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { productFiles } from './source-files.ts';

const MAX_LINES = 120;

suite('the length of functions', () => {
  test(`no function of the product has more than ${MAX_LINES} lines`, () => {
    const long = productFiles()
      .filter(({ path }) => !path.includes('/generated/'))
      .flatMap(({ path, text }) =>
        functionsIn(text)
          .filter(({ lines }) => lines > MAX_LINES)
          .map(({ line, lines }) => `${path}:${line} has ${lines} lines`),
      );
    assert.deepEqual(long, []);
  });

  test('counts functions, methods and arrow functions, and no class', () => {
    const text = [
      'class Edge extends Base(Part) {',
      '  constructor(parts: Parts) {',
      '    super();',
      '  }',
      '}',
      'export async function open(',
      '  config: Config,',
      '): Promise<{ readonly port: number }> {',
      '  const close = () => {',
      '    end();',
      '  };',
      '  return close;',
      '}',
      'const view = (row: Row) => ({',
      '  id: row.id,',
      '});',
    ].join('\n');
    assert.deepEqual(functionsIn(text), [
      { line: 2, lines: 3 },
      { line: 8, lines: 6 },
      { line: 9, lines: 3 },
      { line: 14, lines: 3 },
    ]);
  });
});

/** The end of a head: `) {`, `): Type {`, `=> {` or `=> ({`. */
const HEAD = /(?:\)(?::.*)?|=>) \(?\{$/;
const CLASS = /^(?:export )?(?:abstract )?class\b/;

/**
 * The formatter puts the end of each body at the indentation of its head, so no parser is needed. Other blocks count
 * too: one that is too long is inside of a function that is.
 */
function functionsIn(text: string): readonly { readonly line: number; readonly lines: number }[] {
  const all = text.split('\n');
  return all.flatMap((head, at) => {
    if (!HEAD.test(head) || CLASS.test(head)) return [];
    const end = `${/^ */.exec(head)?.[0] ?? ''}}`;
    const lines = all.slice(at).findIndex((line) => line.startsWith(end)) + 1;
    return [{ line: at + 1, lines }];
  });
}
