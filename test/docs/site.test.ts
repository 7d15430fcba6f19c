import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { sidebarOf } from '../../tools/site/sidebar.ts';
import { sitePath, stagedPage } from '../../tools/site/staged-page.ts';
import { markdownPages, projectRoot, readPage } from './markdown.ts';

/** test/long/site.test.ts builds the site. */
suite('pages for the web site', () => {
  test('links follow their pages, and links to files that are no pages lose their link', () => {
    const isThere = (path: string): boolean => path === 'src/modules';
    const stage = (text: string): string => stagedPage('docs/README.md', text, isThere);
    assert.equal(stage('[a](../README.md#install) [b](how-to/x.md)'), '[a](../index.md#install) [b](how-to/x.md)');
    assert.equal(stage('see [Modules](../src/modules).'), 'see Modules.');
    assert.equal(stage('[gone](../src/gone.ts)'), '[gone](../src/gone.ts)', 'a dead link fails the build');
    assert.equal(stage('[out](https://example.com/a.ts) [here](#x)'), '[out](https://example.com/a.ts) [here](#x)');
    assert.equal(stage('```md\n[a](../README.md)\n```'), '```md\n[a](../README.md)\n```');
    assert.equal(sitePath('src/client/README.md'), 'src/client/index.md');
  });

  test('the sidebar has every page of docs that a reader looks for', () => {
    const listed = new Set(sidebarOf(readPage('docs/README.md')).flatMap(({ items }) => items.map(({ link }) => link)));
    const pages = markdownPages().filter((page) => /^docs\/(tutorials|how-to|reference)\//.test(page));
    assert.deepEqual(
      pages.filter((page) => !listed.has(`/${page.replace(/\.md$/, '')}`)),
      [],
    );
    for (const link of listed) assert.ok(existsSync(join(projectRoot, `${link.replace(/\/$/, '/README')}.md`)), link);
  });
});

test('llms.txt lists every page of docs but the decisions, and leads to files', () => {
  const paths = Array.from(readPage('llms.txt').matchAll(/\]\(([^)]+)\)/g), ([, path = '']) => path);
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(projectRoot, path))),
    [],
  );
  const pages = markdownPages().filter((page) => page.startsWith('docs/') && !page.includes('/decisions/0'));
  assert.deepEqual(
    pages.filter((page) => page !== 'docs/README.md' && !paths.includes(page)),
    [],
  );
});
