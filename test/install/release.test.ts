import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { releasedChangelog } from '../../tools/release-changelog.ts';
import { projectRoot } from '../docs/markdown.ts';
import { tempDir } from '../support/temp-dir.ts';

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

const text = readFileSync(join(projectRoot, 'package-lock.json'), 'utf8');
const { packages } = JSON.parse(text) as { packages: Readonly<Record<string, Locked>> };
const installed = Object.entries(packages).filter(
  ([path, { link }]) => path.includes('node_modules/') && link !== true,
);

/** Linux with glibc on both processors: what servers and CI use. */
function isForServers({ os, cpu, libc }: Locked): boolean {
  return (
    (os === undefined || os.includes('linux')) &&
    (cpu === undefined || cpu.includes('x64') || cpu.includes('arm64')) &&
    !libc?.includes('musl')
  );
}

suite('package-lock.json', () => {
  test('has a SHA-512 hash for every package that Linux servers install', () => {
    const without = installed.filter(([, locked]) => isForServers(locked) && !/^sha512-/.test(locked.integrity ?? ''));
    assert.deepEqual(
      without.map(([path]) => path),
      [],
    );
    // The others were not in the registry when the lockfile was written: tools/complete-lockfile.mjs asks again.
    const others = installed.filter(([, { integrity }]) => integrity === undefined);
    for (const [path, { optional }] of others) assert.equal(optional, true, path);
  });

  test('names no registry, and serves x64 and arm64', () => {
    for (const [path, { resolved }] of Object.entries(packages))
      assert(resolved === undefined || !/^\w+:/.test(resolved), path);
    for (const cpu of ['x64', 'arm64']) {
      for (const name of [`node-linux-${cpu}`, `@esbuild/linux-${cpu}`, `@biomejs/cli-linux-${cpu}`])
        assert(`node_modules/${name}` in packages, name);
    }
  });
});

suite('npm run sbom', () => {
  test('lists every dependency of the program at its locked version, the Node, and no development tool', async (t) => {
    const folder = await tempDir(t);
    const [file = '', again = ''] = ['sbom.json', 'again.json'].map((name) => join(folder, name));
    for (const each of [file, again])
      execFileSync(process.execPath, ['tools/sbom.ts', each], { cwd: projectRoot, stdio: 'pipe' });
    assert.equal(readFileSync(again, 'utf8'), readFileSync(file, 'utf8'), 'two runs differ');
    assert.match(
      readFileSync(file, 'utf8'),
      /"serialNumber": "urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}"/,
    );
    const sbom = JSON.parse(readFileSync(file, 'utf8')) as {
      bomFormat: string;
      metadata: { component: { name: string; version: string } };
      components: { 'bom-ref': string; name: string }[];
    };
    const { name, version, dependencies, devDependencies } = JSON.parse(
      readFileSync(join(projectRoot, 'package.json'), 'utf8'),
    ) as Record<string, string> & Record<'dependencies' | 'devDependencies', Record<string, string>>;
    assert.equal(sbom.bomFormat, 'CycloneDX');
    assert.deepEqual([sbom.metadata.component.name, sbom.metadata.component.version], [name, version]);
    const refs = new Set(sbom.components.map((component) => component['bom-ref']));
    for (const [dependency, pinned] of Object.entries(dependencies))
      assert(refs.has(`${dependency}@${pinned}`), dependency);
    assert(refs.has(`node@${process.versions.node}`));
    for (const tool of Object.keys(devDependencies))
      assert(!sbom.components.some((component) => component.name === tool), tool);
    assert.doesNotMatch(readFileSync(file, 'utf8'), /registry\./);
  });
});

suite('the changelog of a release', () => {
  test('gives the unreleased changes a section of their version', () => {
    const before = '# Changelog\n\n## Unreleased\n\n- new\n\n## 0.1.0 (2026-01-01)\n\n- old\n';
    assert.equal(
      releasedChangelog(before, '0.2.0', '2026-11-16'),
      '# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-11-16)\n\n- new\n\n## 0.1.0 (2026-01-01)\n\n- old\n',
    );
    assert.throws(() => releasedChangelog(before, '0.1.0', '2026-11-16'), /has a section of 0\.1\.0 already/);
    assert.throws(() => releasedChangelog('# Changelog\n', '1.0.0', ''), /no section/);
    assert.throws(() => releasedChangelog('## Unreleased\n\n## 0.1.0 (x)\n', '1.0.0', ''), /lists no change/);
  });

  test('starts with what is unreleased, then versions with their day, newest first', () => {
    const changelog = readFileSync(join(projectRoot, 'CHANGELOG.md'), 'utf8');
    const sections = Array.from(changelog.matchAll(/^## (.+)$/gm), ([, title = '']) => title);
    assert.equal(sections[0], 'Unreleased');
    for (const title of sections.slice(1)) assert.match(title, /^\d+\.\d+\.\d+ \(\d{4}-\d{2}-\d{2}\)$/);
  });
});
