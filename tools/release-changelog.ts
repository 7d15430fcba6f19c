import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../CHANGELOG.md', import.meta.url));
const UNRELEASED = '## Unreleased\n';

/** What is unreleased becomes the section of this version, below a new empty one. */
export function releasedChangelog(text: string, version: string, day: string): string {
  const [before = '', after] = text.split(UNRELEASED);
  if (after === undefined) throw new Error('CHANGELOG.md has no section "## Unreleased"');
  if (/^\s*(## |$)/.test(after)) throw new Error('CHANGELOG.md lists no change since the last version');
  if (text.includes(`\n## ${version} `)) throw new Error(`CHANGELOG.md has a section of ${version} already`);
  return `${before}${UNRELEASED}\n## ${version} (${day})\n${after}`;
}

// `npm version` runs it with the new version, before it commits.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const version = process.env['npm_package_version'];
  if (version === undefined) throw new Error('run "npm version NEW", which runs this');
  const day = new Date().toISOString().slice(0, 10);
  writeFileSync(file, releasedChangelog(readFileSync(file, 'utf8'), version, day));
}
