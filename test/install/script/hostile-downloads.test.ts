import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { signFile } from '../../../tools/release/signature.ts';
import { EXECUTABLE, newKey } from './fake-release.ts';
import { type InstallerWorld, installerWorld } from './installer-world.ts';
import { MACHINES, missingFor, startInstaller } from './run-installer.ts';

interface Attack {
  readonly prepare?: (world: InstallerWorld) => void;
  readonly instead?: (path: string, response: ServerResponse) => boolean;
  readonly says: RegExp;
}

/** Ends the connection in the middle of the body that was announced. */
function cutOff(path: string, response: ServerResponse): boolean {
  if (path !== `/${EXECUTABLE}`) return false;
  response.writeHead(200, { 'content-length': 300_000 });
  response.write('#!/bin/sh\n'.padEnd(1000), () => response.destroy());
  return true;
}

/** A complete response with half of the file. */
function shortened(path: string, response: ServerResponse): boolean {
  if (path !== `/${EXECUTABLE}`) return false;
  response.end('#!/bin/sh\necho 1.2.3\n');
  return true;
}

/** Signed again: what follows the signature must find it. */
function rewriteSums({ release, key }: InstallerWorld, change: (text: string) => string): void {
  const sums = join(release.folder, 'SHA256SUMS');
  writeFileSync(sums, change(readFileSync(sums, 'utf8')));
  rmSync(`${sums}.sig`);
  signFile(sums, key);
}

const ATTACKS: Readonly<Record<string, Attack>> = {
  'a download that breaks off': { instead: cutOff, says: /cannot download .*Nothing was installed|is damaged/ },
  'a download that is shorter than it should be': {
    instead: shortened,
    says: /is damaged or was replaced: its SHA-256 is/,
  },
  'another executable': {
    prepare: ({ release }) => appendFileSync(release.executable, 'echo evil\n'),
    says: /is damaged or was replaced: its SHA-256 is [0-9a-f]{64}, and SHA256SUMS says [0-9a-f]{64}/,
  },
  'another executable with its own checksum': {
    prepare: ({ release }) => {
      const signature = readFileSync(join(release.folder, 'SHA256SUMS.sig'));
      appendFileSync(release.executable, 'echo evil\n');
      release.seal();
      writeFileSync(join(release.folder, 'SHA256SUMS.sig'), signature);
    },
    says: /the signature of .* is not one of the expected key/,
  },
  'a signature of somebody else': {
    prepare: ({ release, scratch }) => {
      rmSync(join(release.folder, 'SHA256SUMS.sig'));
      signFile(join(release.folder, 'SHA256SUMS'), newKey(join(scratch, 'other')));
    },
    says: /is not one of the expected key/,
  },
  'a signature of the key for another purpose': {
    prepare: ({ release, key }) => {
      rmSync(join(release.folder, 'SHA256SUMS.sig'));
      execFileSync('ssh-keygen', ['-Y', 'sign', '-q', '-f', key, '-n', 'file', join(release.folder, 'SHA256SUMS')]);
    },
    says: /is not one of the expected key/,
  },
  'a release without a signature': {
    prepare: ({ release }) => rmSync(join(release.folder, 'SHA256SUMS.sig')),
    says: /cannot download .*SHA256SUMS\.sig/,
  },
  'a release without this platform': {
    prepare: ({ release }) => {
      rmSync(release.executable);
      release.seal();
    },
    says: /this release has no postern-linux-x64/,
  },
  'two checksums of one file': {
    prepare: (world) => rewriteSums(world, (text) => `${text}${'0'.repeat(64)}  ${EXECUTABLE}\n`),
    says: /SHA256SUMS of .* is damaged/,
  },
  'a list of checksums with other line ends': {
    prepare: (world) => rewriteSums(world, (text) => text.replaceAll('\n', '\r\n')),
    says: /SHA256SUMS of .* is damaged/,
  },
  'a name that leads elsewhere': {
    prepare: (world) => rewriteSums(world, (text) => `${text}${'0'.repeat(64)}  ../../etc/passwd\n`),
    says: /SHA256SUMS of .* is damaged/,
  },
  'a page in the place of the checksums': {
    prepare: (world) => rewriteSums(world, () => '<!doctype html><title>Log in first</title>\n'),
    says: /SHA256SUMS of .* is damaged/,
  },
  'a redirect from plain HTTP': {
    instead: (path, response) => {
      if (path.startsWith('/elsewhere')) return false;
      response.writeHead(302, { location: `/elsewhere${path}` }).end();
      return true;
    },
    says: /cannot download|redirects to a place that cannot be trusted/,
  },
};

for (const machine of MACHINES.slice(0, 3)) {
  suite(`install.sh on ${machine.name} rejects`, { skip: missingFor(machine) }, () => {
    for (const [name, { prepare, instead, says }] of Object.entries(ATTACKS)) {
      test(name, async (t) => {
        const world = await installerWorld(t, { machine, ...(instead !== undefined && { instead }) });
        const old = world.put('1.0.0');
        prepare?.(world);
        const { code, out, err } = await world.install();
        assert.equal(code, 1, out);
        assert.match(err, says);
        assert.equal(err.trim().split('\n').length, 1, err);
        assert.deepEqual([world.files(), readFileSync(join(world.target, 'postern'), 'utf8')], [['postern'], old]);
      });
    }
  });

  test(`install.sh on ${machine.name} leaves nothing when it is interrupted`, {
    skip: missingFor(machine),
  }, async (t) => {
    const reached = Promise.withResolvers<void>();
    const instead = (path: string, response: ServerResponse): boolean => {
      if (path !== `/${EXECUTABLE}`) return false;
      response.writeHead(200, { 'content-length': 300_000 });
      response.write('#!/bin/sh\n'.padEnd(100_000), () => reached.resolve());
      return true;
    };
    const world = await installerWorld(t, { machine, instead });
    const old = world.put('1.0.0');
    const { pid, ended } = startInstaller({ machine, scratch: world.scratch, env: world.env });
    await reached.promise;
    // As a terminal does: the shell and the downloader get it.
    process.kill(-pid, 'SIGINT');
    const { code, out } = await ended;
    assert.notEqual(code, 0, out);
    assert.deepEqual([world.files(), readFileSync(join(world.target, 'postern'), 'utf8')], [['postern'], old]);
  });
}
