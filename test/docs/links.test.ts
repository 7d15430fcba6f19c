import assert from 'node:assert/strict';
import { existsSync, globSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { packedFiles } from '../support/packed-files.ts';
import { markdownPages, projectRoot, readPage } from './markdown.ts';

interface Link {
  readonly from: string;
  /** Relative to the project's root, without fragment. */
  readonly path: string;
  readonly fragment: string;
}

const pages = markdownPages();
const links: readonly Link[] = pages
  .flatMap((page) => {
    const text = prose(page);
    return Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ({ 1: target = '', index }) => {
      const [path = '', fragment = ''] = target.split('#');
      const from = `${page}:${text.slice(0, index).split('\n').length}`;
      return {
        from,
        path: path === '' ? page : isAbsolute(path) ? path : normalize(join(dirname(page), path)),
        fragment,
      };
    });
  })
  .filter(({ path }) => !isAbsolute(path));

/** The page with empty lines in place of its code blocks. */
function prose(page: string): string {
  return readPage(page).replaceAll(/^ *```[\s\S]*?^ *```$/gm, (block) => block.replaceAll(/[^\n]/g, ''));
}

function isAbsolute(path: string): boolean {
  return /^(https?|mailto):/.test(path);
}

test('every relative link leads to a file, and every fragment to a heading of it', () => {
  assert.ok(links.length > 100);
  const broken = links.filter(({ path, fragment }) => {
    if (path.startsWith('..') || !existsSync(join(projectRoot, path))) return true;
    return fragment !== '' && !anchorsOf(path).has(fragment);
  });
  assert.deepEqual(broken, []);
});

test('every relative link of a packaged page leads to something in the package', async () => {
  const packed = await packedFiles();
  assert.ok(packed.has('README.md') && packed.has('docs/README.md'));
  const isPacked = (path: string): boolean =>
    packed.has(path) || [...packed].some((file) => file.startsWith(`${path.replace(/\/$/, '')}/`));
  // Pictures would be a third of the package. Its pages have a description in place of each.
  const needed = links.filter(({ path }) => !/\.(png|svg)$/.test(path));
  const broken = needed.filter(({ from, path }) => packed.has(from.replace(/:\d+$/, '')) && !isPacked(path));
  assert.deepEqual(broken, [], 'link to something inside the package, or add it to "files" in package.json');
});

/** docs/README.md links these folders: a new module or kind must not have to change it. */
const IN_A_LISTED_FOLDER = /^src\/(modules|backends|control\/events\/destinations)\/[^/]+\/README\.md$/;

test('every page of docs/ and every README of src/ can be reached from docs/README.md', () => {
  const reached = new Set(['docs/README.md']);
  for (const page of reached) {
    for (const { from, path } of links) if (from.startsWith(`${page}:`) && path.endsWith('.md')) reached.add(path);
  }
  assert.deepEqual(
    pages.filter((page) => /^(docs|src)\//.test(page) && !IN_A_LISTED_FOLDER.test(page) && !reached.has(page)),
    [],
    'link the page from docs/README.md, or from a page that it links',
  );
});

/** Names that Markdown renderers give to headings. */
function anchorsOf(path: string): ReadonlySet<string> {
  if (!path.endsWith('.md') || statSync(join(projectRoot, path)).isDirectory()) return new Set();
  const headings = readPage(path).matchAll(/^#{1,6} (.+)$/gm);
  return new Set(
    Array.from(headings, ([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

test('every source file that a page of internals or a README of src/ names is there', () => {
  const files = globSync('src/**/*.ts', { cwd: projectRoot });
  const missing = pages
    .filter((page) => /^(docs\/internals\/life-of|src\/)/.test(page))
    .flatMap((page) =>
      Array.from(readPage(page).matchAll(/`(?:\.\.\/)*((?:[\w-]+\/)*[\w-]+\.ts)`/g), ([, name = '']) => name)
        .filter(
          (name) => !files.some((file) => `/${file}`.endsWith(`/${name}`)) && !existsSync(join(projectRoot, name)),
        )
        .map((name) => `${page}: ${name}`),
    );
  assert.deepEqual(missing, []);
});

test('every folder that a page of internals or a README of src/ names is there, and every name in a picture', () => {
  const entries = globSync('src/**', { cwd: projectRoot }).map((path) => `/${path.replace(/\.ts$/, '')}`);
  const missing = pages
    .filter((page) => /^(docs\/internals\/life-of|src\/)/.test(page))
    .flatMap((page) => {
      const text = readPage(page);
      const folders = text.matchAll(/`(?:\.\.\/)*([a-z][\w-]*(?:\/[\w-]+)*)\/`/g);
      const pictures = page.startsWith('docs/')
        ? Array.from(text.matchAll(/^```\n[\s\S]*?^```$/gm), String).join('\n')
        : '';
      const drawn = pictures.matchAll(/(?<![\w./])([a-z][a-z-]*(?:\/[a-z][a-z-]*)+)(?![\w/])/g);
      return Array.from([...folders, ...drawn], ([, name = '']) => name)
        .filter((name) => !entries.some((entry) => entry.endsWith(`/${name}`)) && !existsSync(join(projectRoot, name)))
        .map((name) => `${page}: ${name}`);
    });
  assert.deepEqual(missing, []);
});

test('every path that a page names is there', () => {
  const missing = pages.flatMap((page) =>
    // A changelog or a decision may name files that are gone.
    Array.from(
      readPage(page).matchAll(/`((?:src|test|tools|bench|bin|docs|spec)\/[\w./-]*\w)`/g),
      ([, path = '']) => path,
    )
      .filter((path) => page !== 'CHANGELOG.md' && !existsSync(join(projectRoot, path)))
      .map((path) => `${page}: ${path}`),
  );
  assert.deepEqual(missing, []);
});

test('every identifier that a page about the code names occurs in the code', () => {
  const words = new Set(
    globSync('{src,test,tools,bench,console/src}/**/*.{ts,tsx}', { cwd: projectRoot }).flatMap((file) =>
      Array.from(readPage(file).matchAll(/[A-Za-z_]\w*/g), ([word]) => word),
    ),
  );
  const aboutCode = /^(docs\/(internals\/|concepts)|src\/|ARCHITECTURE|CONTRIBUTING|SECURITY)/;
  const unknown = pages
    .filter((page) => aboutCode.test(page))
    .flatMap((page) =>
      Array.from(prose(page).matchAll(/`([^`\n]+)`/g), ([, code = '']) => code)
        // In camel case: other words may be those of a protocol or a command. Parts of paths are checked above.
        .flatMap((code) =>
          Array.from(code.matchAll(/(?<![\w/.-])#?([A-Za-z]*[a-z][A-Z]\w*)(?![\w-]*[/.])/g), ([, word = '']) => word),
        )
        .filter((word) => !words.has(word))
        .map((word) => `${page}: ${word}`),
    );
  assert.deepEqual(unknown, []);
});
