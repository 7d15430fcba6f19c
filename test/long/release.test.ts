import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { projectRoot } from '../docs/markdown.ts';
import { fullCopy } from '../support/full-copy.ts';

const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as { version: string };
const OWN = `postern-${process.platform}-${process.arch}`;
const ELF = Buffer.from([0x7f, 0x45, 0x4c, 0x46]);
/** Offset 18 of an ELF file. */
const ELF_PROCESSORS: Readonly<Record<string, number>> = { x64: 62, arm64: 183 };
/** The first bytes of a 64-bit Mach-O file, little endian. */
const MACH_O = Buffer.from([0xcf, 0xfa, 0xed, 0xfe]);

suite('npm run release', () => {
  let folders: readonly string[] = [];
  const scratch = mkdtempSync(join(tmpdir(), 'postern-two-releases-'));
  after(() => rmSync(scratch, { recursive: true, force: true }));
  before(() => {
    const key = join(scratch, 'key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    // Both first: somebody may edit the checkout meanwhile.
    const copies = ['one', 'another-folder'].map((name) => fullCopy(join(scratch, name)));
    folders = copies.map((copy) => {
      const release = join(copy, 'release');
      const printed = execFileSync('npm', ['run', '--silent', 'release'], {
        cwd: copy,
        encoding: 'utf8',
        env: { ...process.env, POSTERN_RELEASE_KEY: key, POSTERN_DOWNLOAD_URL: 'https://downloads.example.com' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      assert.match(printed, /^signed with ssh-ed25519 /m);
      return release;
    });
  });

  test('makes the same bytes in two folders', () => {
    const [one = '', other = ''] = folders;
    assert.deepEqual(readdirSync(one), readdirSync(other));
    const differ = readdirSync(one).filter(
      (name) => spawnSync('cmp', [join(one, name), join(other, name)]).status !== 0,
    );
    assert.deepEqual(differ, []);
  });

  test('has executables, package, container context, bill of materials, notes and checksums', () => {
    const [release = ''] = folders;
    const names = readdirSync(release);
    const missing = [
      ...['linux-x64', 'linux-arm64', 'darwin-x64'].map((platform) => `postern-${platform}`),
      ...['.tgz', '.cdx.json', '-container.tar.gz'].map((end) => `postern-${version}${end}`),
      ...['install.sh', 'NOTES.md', 'SHA256SUMS', 'SHA256SUMS.sig'],
    ].filter((name) => !names.includes(name));
    assert.deepEqual(missing, []);
    execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: release, stdio: 'pipe' });
    assert.equal(readFileSync(join(release, 'SHA256SUMS'), 'utf8').trim().split('\n').length, names.length - 2);
    if (!names.includes('postern-darwin-arm64'))
      assert.match(readFileSync(join(release, 'NOTES.md'), 'utf8'), /Not in this release\n\n- postern-darwin-arm64/);
    assert.match(readFileSync(join(release, 'install.sh'), 'utf8'), /^default_key='ssh-ed25519 /m);
  });

  test('has an executable of this machine that uses the code that was compiled in the build', () => {
    const program = join(folders[0] ?? '', OWN);
    assert.equal(execFileSync(program, ['--version'], { encoding: 'utf8' }).trim(), version);
    const env = { ...process.env, NODE_DEBUG_NATIVE: 'SEA' };
    const said = execFileSync('sh', ['-c', '"$0" --version 2>&1', program], { env, encoding: 'utf8' });
    assert.match(said, /code cache accepted/);
  });

  test('has executables of other machines in their format', () => {
    for (const name of readdirSync(folders[0] ?? '')) {
      const [, platform = '', arch = ''] = /^postern-(linux|darwin)-(x64|arm64)$/.exec(name) ?? [];
      if (platform === '') continue;
      const file = join(folders[0] ?? '', name);
      assert.equal(statSync(file).mode & 0o777, 0o755, name);
      const start = firstBytes(file);
      assert.deepEqual(start.subarray(0, 4), platform === 'linux' ? ELF : MACH_O, name);
      if (platform === 'linux') assert.equal(start.readUInt16LE(18), ELF_PROCESSORS[arch], name);
    }
  });
});

function firstBytes(file: string): Buffer {
  const bytes = Buffer.alloc(64);
  const descriptor = openSync(file, 'r');
  readSync(descriptor, bytes);
  closeSync(descriptor);
  return bytes;
}
