/** `npm run site`: builds the documentation as a web site into site/dist (site/README.md). */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sidebarOf } from './site/sidebar.ts';
import { sitePath, stagedPage } from './site/staged-page.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const site = join(root, 'site');
const content = join(site, '.content');

const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, maxBuffer: 2 ** 26 })
  .toString()
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)));
const pages = tracked.filter((path) => path.endsWith('.md') && !/^(site|test|console)\//.test(path));

rmSync(content, { recursive: true, force: true });
for (const page of pages) {
  const text = readFileSync(join(root, page), 'utf8');
  write(
    sitePath(page),
    stagedPage(page, text, (path) => existsSync(join(root, path))),
  );
}
for (const picture of tracked.filter((path) => /^docs\/.*\.(svg|png)$/.test(path))) {
  mkdirSync(dirname(join(content, picture)), { recursive: true });
  cpSync(join(root, picture), join(content, picture));
}
write('site.json', JSON.stringify({ sidebar: sidebarOf(readFileSync(join(root, 'docs/README.md'), 'utf8')) }));
const forPrograms = readFileSync(join(root, 'llms.txt'), 'utf8');
write(
  'public/llms.txt',
  forPrograms.replaceAll(/\]\(([^)]+)\.md\)/g, (_, page: string) => `](${sitePath(`${page}.md`).slice(0, -3)}.html)`),
);
cpSync(join(root, 'openapi.json'), join(content, 'public/openapi.json'));

if (!existsSync(join(site, 'node_modules/vitepress')))
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: site, stdio: 'inherit' });
// No reports about the use of the tool.
const env = { ...process.env, DO_NOT_TRACK: '1' };
const vitepress = join(site, 'node_modules/vitepress/bin/vitepress.js');
execFileSync(process.execPath, [vitepress, 'build'], { cwd: site, env, stdio: 'inherit' });
process.stdout.write(`wrote ${join(site, 'dist')} (${pages.length} pages)\n`);

function write(path: string, text: string): void {
  const file = join(content, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
